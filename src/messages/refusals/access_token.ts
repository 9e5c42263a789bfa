import type { Texts } from "../language.ts";

/** Texts of refusals of an access token. */
export const accessTokenTexts = {
  TOKEN_NOT_FOUND: {
    en: "Access token {id} does not exist.",
    de: "Das Zugriffstoken {id} existiert nicht.",
    fr: "Le jeton d’accès {id} n’existe pas.",
    es: "El token de acceso {id} no existe.",
  },
  ACCESS_TOKEN_LIMIT: {
    en: "A user can have at most {limit} access tokens; revoke one first.",
    de: "Ein Benutzer hat höchstens {limit} Zugriffstoken; widerrufen Sie zuerst eines.",
    fr: "Un utilisateur a au plus {limit} jetons d’accès ; révoquez-en d’abord un.",
    es: "Un usuario tiene como máximo {limit} tokens de acceso; revoque antes uno.",
  },
  TOKEN_LIFETIME: {
    en: "Must be within {max} seconds from now.",
    de: "Der Zeitpunkt muss in den nächsten {max} Sekunden liegen.",
    fr: "Doit être dans les {max} prochaines secondes.",
    es: "Debe estar dentro de los próximos {max} segundos.",
  },
  EXPIRATION_AFTER_MAKER: {
    en: "Must not be later than the expiration of the token that creates it, {until}.",
    de: "Darf nicht nach dem Ablauf des Tokens liegen, das es macht: {until}.",
    fr: "Ne doit pas être postérieure à celle du jeton qui le crée, {until}.",
    es: "No debe ser posterior a la del token que lo crea, {until}.",
  },
} as const satisfies Record<string, Texts>;
