import type { Texts } from "../language.ts";

/** Texts of refusals of a phone number. */
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
  PHONE_MALFORMED: {
    en: "Is not a valid phone number with its country code.",
    de: "Das ist keine gültige Telefonnummer mit Landesvorwahl.",
    fr: "Ce n’est pas un numéro de téléphone valide avec son indicatif de pays.",
    es: "No es un número de teléfono válido con su prefijo de país.",
  },
  PHONE_WITHOUT_SMS: {
    en: "Is a premium-rate number, to which we send no SMS.",
    de: "Das ist eine Mehrwertdienstnummer; sie bekommt keine SMS.",
    fr: "C’est un numéro surtaxé, qui ne reçoit pas de SMS.",
    es: "Es un número de tarificación especial, que no recibe SMS.",
  },
} as const satisfies Record<string, Texts>;
