import type { Texts } from "../language.ts";

/** Texts of refusals about factors beside the password. */
export const factorTexts = {
  FACTOR_NOT_FOUND: {
    en: "Factor {id} does not exist.",
    de: "Der Faktor {id} existiert nicht.",
    fr: "Le facteur {id} n’existe pas.",
    es: "El factor {id} no existe.",
  },
  FACTOR_EXISTS: {
    en: "The user already has an authenticator app; remove it first.",
    de: "Der Benutzer hat schon eine Authenticator-App; entfernen Sie sie zuerst.",
    fr: "L’utilisateur a déjà une application d’authentification\u202f; supprimez-la d’abord.",
    es: "El usuario ya tiene una aplicación de autenticación; elimínela primero.",
  },
  FACTOR_LIMIT: {
    en: "The user already has the maximum number of passkeys; remove one first.",
    de: "Der Benutzer hat so viele Passkeys, wie erlaubt sind; entfernen Sie zuerst einen.",
    fr: "L’utilisateur a autant de clés d’accès que permis\u202f; supprimez-en une d’abord.",
    es: "El usuario tiene tantas llaves de acceso como se permiten; elimine antes una.",
  },
  FACTOR_MISSING: {
    en: "The user needs an authenticator app or a passkey first.",
    de: "Der Benutzer braucht zuerst eine Authenticator-App oder einen Passkey.",
    fr: "L’utilisateur doit d’abord avoir une application d’authentification ou une clé d’accès.",
    es: "El usuario necesita antes una aplicación de autenticación o una llave de acceso.",
  },
  FACTORS_OFF: {
    en: "The factor policy does not allow enrolment.",
    de: "Die Faktorrichtlinie erlaubt keine Einrichtung.",
    fr: "La politique de facteurs n’autorise aucun enregistrement.",
    es: "La política de factores no permite ningún registro.",
  },
  FACTOR_ENROLMENT_REQUIRED: {
    en: "The factor policy requires a second factor; until you enrol one, you cannot do anything else in this session.",
    de: "Diese Sitzung darf nur einen Faktor einrichten, den die Faktorrichtlinie verlangt.",
    fr: "Cette session ne permet que d’enregistrer un facteur, exigé par la politique de facteurs.",
    es: "Esta sesión solo puede registrar un factor, que la política de factores exige.",
  },
  FACTOR_ATTEMPTS: {
    en: "Too many wrong codes; please try again later or use a passkey.",
    de: "Es gab zu viele falsche Codes; bitte versuchen Sie es später noch einmal oder verwenden Sie einen Passkey.",
    fr: "Il y a eu trop de codes incorrects\u202f; veuillez réessayer plus tard ou utiliser une clé d’accès.",
    es: "Ha habido demasiados códigos incorrectos; vuelva a intentarlo más tarde o use una llave de acceso.",
  },
  FACTOR_CODE_INVALID: {
    en: "Is not a valid code: it is wrong, was already used or is for another time.",
    de: "Das ist kein gültiger Code: Er ist falsch, schon verwendet oder von einem anderen Zeitpunkt.",
    fr: "N’est pas un code en vigueur\u202f: il est faux, déjà utilisé ou d’un autre moment.",
    es: "No es un código vigente: es incorrecto, ya se usó o es de otro momento.",
  },
  PASSKEY_HOST: {
    en: "The service is reached at an IP address, {host}, but browsers create passkeys only for host names; its operator must set PUBLIC_URL to a name.",
    de: "Der Dienst ist über eine Adresse erreichbar, {host}, und Browser erzeugen Passkeys nur für Namen; seine Betreiber müssen PUBLIC_URL auf einen Namen setzen.",
    fr: "Le service est joint par une adresse, {host}, et les navigateurs ne créent des clés d’accès que pour des noms\u202f; ses responsables doivent donner un nom à PUBLIC_URL.",
    es: "Al servicio se llega por una dirección, {host}, y los navegadores solo crean llaves de acceso para nombres; sus responsables deben poner un nombre en PUBLIC_URL.",
  },
  ENROLMENT_EXPIRED: {
    en: "The enrolment has expired or was never started; please start again.",
    de: "Die Einrichtung ist abgelaufen oder hat nie begonnen; bitte beginnen Sie noch einmal.",
    fr: "L’enregistrement a expiré ou n’a jamais commencé\u202f; veuillez recommencer.",
    es: "El registro ha caducado o no ha comenzado; empiece de nuevo.",
  },
  PASSKEY_INVALID: {
    en: "The passkey could not be verified.",
    de: "Der Passkey ließ sich nicht überprüfen.",
    fr: "La clé d’accès n’a pas pu être vérifiée.",
    es: "No se ha podido verificar la llave de acceso.",
  },
  PASSKEY_UNPROVEN: {
    en: "Is not a response to this challenge from a passkey of this user.",
    de: "Das ist keine Antwort eines Passkeys dieses Benutzers auf diese Aufgabe.",
    fr: "N’est pas la réponse d’une clé d’accès de cet utilisateur à ce défi.",
    es: "No es la respuesta de una llave de acceso de este usuario a este desafío.",
  },
} as const satisfies Record<string, Texts>;
