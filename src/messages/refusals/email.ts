import type { Texts } from "../language.ts";

/** Texts of refusals of an email address. */
export const emailTexts = {
  EMAIL_INVALID: {
    en: "This is not a valid email address.",
    de: "Das ist keine gültige E-Mail-Adresse.",
    fr: "Cette adresse e-mail n’est pas valide.",
    es: "La dirección de correo electrónico no es válida.",
  },
  EMAIL_UNCHANGED: {
    en: "The user already has this email address.",
    de: "Der Benutzer hat diese E-Mail-Adresse bereits.",
    fr: "L’utilisateur a déjà cette adresse e-mail.",
    es: "El usuario ya tiene esta dirección de correo electrónico.",
  },
  EMAIL_VERIFIED: {
    en: "The email address is already verified.",
    de: "Die E-Mail-Adresse ist schon bestätigt.",
    fr: "L’adresse e-mail est déjà vérifiée.",
    es: "La dirección de correo electrónico ya está verificada.",
  },
} as const satisfies Record<string, Texts>;
