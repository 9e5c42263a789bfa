import type { Texts } from "../language.ts";

/** Texts of refusals of a phone number or of the code sent to it. */
export const phoneTexts = {
  PHONE_EMPTY: {
    en: "Must contain a digit.",
    de: "Es muss eine Ziffer geben.",
    fr: "Doit contenir un chiffre.",
    es: "Debe tener un dígito.",
  },
  PHONE_INVALID: {
    en: "This is not a valid phone number; include the country code, as in +41 44 668 18 00.",
    de: "Das ist keine gültige Telefonnummer; schreiben Sie sie mit Landesvorwahl, etwa +41 44 668 18 00.",
    fr: "Ce numéro de téléphone n’est pas valide\u202f; écrivez-le avec l’indicatif du pays, comme +41 44 668 18 00.",
    es: "El número de teléfono no es válido; escríbalo con el prefijo del país, por ejemplo +41 44 668 18 00.",
  },
  PHONE_PREMIUM_RATE: {
    en: "Codes cannot be sent to premium-rate numbers.",
    de: "An eine Mehrwertdienstnummer wird kein Code gesendet.",
    fr: "Aucun code n’est envoyé à un numéro surtaxé.",
    es: "No se envía ningún código a un número de tarificación especial.",
  },
  PHONE_PREMIUM_RATE_CODE: {
    en: "Cannot be used with a premium-rate number; use returnCode to get the code in the response.",
    de: "An eine Mehrwertdienstnummer kann kein Code gehen; mit returnCode steht er in der Antwort.",
    fr: "Aucun code ne peut être envoyé à un numéro surtaxé\u202f; returnCode le renvoie dans la réponse.",
    es: "No se puede enviar ningún código a un número de tarificación especial; returnCode lo devuelve en la respuesta.",
  },
  USER_INACTIVE: {
    en: "The user is deactivated, so no code is sent.",
    de: "Der Benutzer ist deaktiviert, daher wird kein Code gesendet.",
    fr: "L’utilisateur est désactivé, aucun code n’est donc envoyé.",
    es: "El usuario está desactivado, por lo que no se envía ningún código.",
  },
  PHONE_UNCHANGED: {
    en: "The user already has this phone number.",
    de: "Der Benutzer hat diese Telefonnummer bereits.",
    fr: "L’utilisateur a déjà ce numéro de téléphone.",
    es: "El usuario ya tiene este número de teléfono.",
  },
  PHONE_MISSING: {
    en: "The user has no phone number.",
    de: "Der Benutzer hat keine Telefonnummer.",
    fr: "L’utilisateur n’a pas de numéro de téléphone.",
    es: "El usuario no tiene número de teléfono.",
  },
  PHONE_VERIFIED: {
    en: "The phone number is already verified.",
    de: "Die Telefonnummer ist schon bestätigt.",
    fr: "Le numéro de téléphone est déjà vérifié.",
    es: "El número de teléfono ya está verificado.",
  },
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
  SEND_LIMIT: {
    en: "Too many codes were sent; please wait before you request another.",
    de: "Es wurden zu viele Codes gesendet; bitte warten Sie, bevor Sie einen weiteren anfordern.",
    fr: "Trop de codes ont été envoyés\u202f; veuillez patienter avant d’en demander un autre.",
    es: "Se han enviado demasiados códigos; espere antes de solicitar otro.",
  },
} as const satisfies Record<string, Texts>;
