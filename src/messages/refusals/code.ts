import type { Texts } from "../language.ts";

/** Texts of refusals of a code that was sent or generated, and of another one that is asked for too soon. */
export const codeTexts = {
  CODE_INVALID: {
    en: "The verification code is wrong.",
    de: "Der Bestätigungscode ist falsch.",
    fr: "Le code de vérification est incorrect.",
    es: "El código de verificación no es correcto.",
  },
  CODE_EXPIRED: {
    en: "The verification code has expired; please request a new one.",
    de: "Der Bestätigungscode ist abgelaufen; bitte fordern Sie einen neuen an.",
    fr: "Le code de vérification a expiré\u202f; veuillez en demander un nouveau.",
    es: "El código de verificación ha caducado; solicite uno nuevo.",
  },
  CODE_ATTEMPTS: {
    en: "Too many wrong codes were entered; please request a new one.",
    de: "Es wurden zu viele falsche Codes eingegeben; bitte fordern Sie einen neuen an.",
    fr: "Trop de codes incorrects ont été saisis\u202f; veuillez en demander un nouveau.",
    es: "Se han introducido demasiados códigos incorrectos; solicite uno nuevo.",
  },
  CODE_NOT_IN_FORCE: {
    en: "Is not a valid code: it is wrong, was already used or has expired.",
    de: "Das ist kein gültiger Code: Er ist falsch, verbraucht oder abgelaufen.",
    fr: "Ce n’est pas un code en vigueur\u202f: il est faux, utilisé ou expiré.",
    es: "No es un código en vigor: es incorrecto, se usó o ha caducado.",
  },
  CODE_NOT_LAST: {
    en: "Is not the code that was generated most recently.",
    de: "Das ist nicht der zuletzt erzeugte Code.",
    fr: "Ce n’est pas le dernier code généré.",
    es: "No es el último código generado.",
  },
  SEND_LIMIT: {
    en: "Too many codes were sent; please wait before you request another.",
    de: "Es wurden zu viele Codes gesendet; bitte warten Sie, bevor Sie einen weiteren anfordern.",
    fr: "Trop de codes ont été envoyés\u202f; veuillez patienter avant d’en demander un autre.",
    es: "Se han enviado demasiados códigos; espere antes de solicitar otro.",
  },
} as const satisfies Record<string, Texts>;
