import type { Texts } from "./language.ts";

/** Texts of refusals about factors beside the password, and of sign-ins that take several steps. */
export const factorTexts = {
  FACTOR_NOT_FOUND: {
    en: "Factor {id} does not exist.",
    de: "Der Faktor {id} existiert nicht.",
    fr: "Le facteur {id} n'existe pas.",
    es: "El factor {id} no existe.",
  },
  FACTOR_EXISTS: {
    en: "The user already has an app for codes; remove it first.",
    de: "Der Benutzer hat schon eine App für Codes; entfernen Sie sie zuerst.",
    fr: "L'utilisateur a déjà une application de codes, supprimez-la d'abord.",
    es: "El usuario ya tiene una aplicación de códigos; elimínela primero.",
  },
  FACTOR_LIMIT: {
    en: "The user has as many passkeys as are allowed; remove one first.",
    de: "Der Benutzer hat so viele Passkeys, wie erlaubt sind; entfernen Sie zuerst einen.",
    fr: "L'utilisateur a autant de clés d'accès que permis, supprimez-en une d'abord.",
    es: "El usuario tiene tantas claves de acceso como se permiten; elimine antes una.",
  },
  FACTOR_MISSING: {
    en: "The user needs an app for codes or a passkey first.",
    de: "Der Benutzer braucht zuerst eine App für Codes oder einen Passkey.",
    fr: "L'utilisateur doit d'abord avoir une application de codes ou une clé d'accès.",
    es: "El usuario necesita antes una aplicación de códigos o una clave de acceso.",
  },
  FACTORS_OFF: {
    en: "The factor policy allows no enrolment.",
    de: "Die Faktorrichtlinie erlaubt keine Einrichtung.",
    fr: "La politique de facteurs n'autorise aucune inscription.",
    es: "La política de factores no permite ningún registro.",
  },
  FACTOR_ENROLMENT_REQUIRED: {
    en: "This session may only enrol a factor, which the factor policy requires.",
    de: "Diese Sitzung darf nur einen Faktor einrichten, den die Faktorrichtlinie verlangt.",
    fr: "Cette session peut seulement inscrire un facteur, exigé par la politique de facteurs.",
    es: "Esta sesión solo puede registrar un factor, que la política de factores exige.",
  },
  FACTOR_ATTEMPTS: {
    en: "There were too many wrong codes; please try again later, or use a passkey.",
    de: "Es gab zu viele falsche Codes; bitte versuchen Sie es später noch einmal oder nehmen Sie einen Passkey.",
    fr: "Il y a eu trop de codes incorrects, veuillez réessayer plus tard ou utiliser une clé d'accès.",
    es: "Ha habido demasiados códigos incorrectos; vuelva a intentarlo más tarde o use una clave de acceso.",
  },
  FACTOR_CODE_INVALID: {
    en: "Is no code in force: it is wrong, was used or is of another time.",
    de: "Das ist kein gültiger Code: Er ist falsch, schon verwendet oder von einer anderen Zeit.",
    fr: "N'est pas un code en vigueur\u00a0: il est faux, déjà utilisé ou d'un autre moment.",
    es: "No es un código vigente: es incorrecto, ya se usó o es de otro momento.",
  },
  PASSKEY_HOST: {
    en: "The service is reached by an address, {host}, and browsers make passkeys for names only; those who run it set PUBLIC_URL to a name.",
    de: "Der Dienst ist über eine Adresse erreichbar, {host}, und Browser erzeugen Passkeys nur für Namen; seine Betreiber setzen PUBLIC_URL auf einen Namen.",
    fr: "Le service est joint par une adresse, {host}, et les navigateurs ne créent des clés d'accès que pour des noms\u00a0; ceux qui l'exploitent donnent un nom à PUBLIC_URL.",
    es: "Al servicio se llega por una dirección, {host}, y los navegadores solo crean claves de acceso para nombres; quienes lo administran ponen un nombre en PUBLIC_URL.",
  },
  ENROLMENT_EXPIRED: {
    en: "The enrolment has expired or never began; please begin again.",
    de: "Die Einrichtung ist abgelaufen oder hat nie begonnen; bitte beginnen Sie noch einmal.",
    fr: "L'inscription a expiré ou n'a jamais commencé, veuillez recommencer.",
    es: "El registro ha caducado o no ha comenzado; empiece de nuevo.",
  },
  SIGN_IN_NOT_FRESH: {
    en: "This needs a sign-in of the last minutes; please sign in again.",
    de: "Das verlangt eine Anmeldung der letzten Minuten; bitte melden Sie sich noch einmal an.",
    fr: "Cela exige une connexion des dernières minutes, veuillez vous reconnecter.",
    es: "Esto requiere un inicio de sesión de los últimos minutos; inicie sesión de nuevo.",
  },
  CHALLENGE_INVALID: {
    en: "The sign-in has expired or ended; please begin again.",
    de: "Die Anmeldung ist abgelaufen oder beendet; bitte beginnen Sie noch einmal.",
    fr: "La connexion a expiré ou est terminée, veuillez recommencer.",
    es: "El inicio de sesión ha caducado o ha terminado; empiece de nuevo.",
  },
  CHALLENGE_NOT_IN_FORCE: {
    en: "Is no token in force: it is wrong, was used or has expired.",
    de: "Das ist kein gültiges Token: Es ist falsch, schon verwendet oder abgelaufen.",
    fr: "N'est pas un jeton en vigueur\u00a0: il est faux, déjà utilisé ou expiré.",
    es: "No es un token vigente: es incorrecto, ya se usó o ha caducado.",
  },
  PASSKEY_INVALID: {
    en: "The passkey could not be verified.",
    de: "Der Passkey ließ sich nicht überprüfen.",
    fr: "La clé d'accès n'a pas pu être vérifiée.",
    es: "No se ha podido verificar la clave de acceso.",
  },
  PASSKEY_UNPROVEN: {
    en: "Is no answer of a passkey of this user to this challenge.",
    de: "Das ist keine Antwort eines Passkeys dieses Benutzers auf diese Aufgabe.",
    fr: "N'est pas la réponse d'une clé d'accès de cet utilisateur à ce défi.",
    es: "No es la respuesta de una clave de acceso de este usuario a este desafío.",
  },
} as const satisfies Record<string, Texts>;
