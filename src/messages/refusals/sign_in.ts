import type { Texts } from "../language.ts";

/** Texts of refusals of a sign-in or its session. */
export const signInTexts = {
  SIGN_IN_FAILED: {
    en: "The login name or the password is wrong.",
    de: "Der Anmeldename oder das Passwort ist falsch.",
    fr: "Le nom de connexion ou le mot de passe est incorrect.",
    es: "El nombre de inicio de sesión o la contraseña no son correctos.",
  },
  SIGN_IN_NOT_FRESH: {
    en: "This requires a sign-in within the last few minutes; please sign in again.",
    de: "Dafür muss die Anmeldung wenige Minuten alt sein; bitte melden Sie sich noch einmal an.",
    fr: "Ceci exige une connexion datant de quelques minutes\u202f; veuillez vous reconnecter.",
    es: "Esto requiere haber iniciado sesión hace pocos minutos; inicie sesión de nuevo.",
  },
  CHALLENGE_INVALID: {
    en: "The sign-in has expired or ended; please start again.",
    de: "Die Anmeldung ist abgelaufen oder beendet; bitte beginnen Sie noch einmal.",
    fr: "La connexion a expiré ou est terminée\u202f; veuillez recommencer.",
    es: "El inicio de sesión ha caducado o ha terminado; empiece de nuevo.",
  },
  CHALLENGE_NOT_IN_FORCE: {
    en: "Is not a valid token: it is wrong, was already used or has expired.",
    de: "Das ist kein gültiges Token: Es ist falsch, schon verwendet oder abgelaufen.",
    fr: "N’est pas un jeton en vigueur\u202f: il est faux, déjà utilisé ou expiré.",
    es: "No es un token vigente: es incorrecto, ya se usó o ha caducado.",
  },
  SESSION_NOT_FOUND: {
    en: "Session {id} does not exist.",
    de: "Die Sitzung {id} existiert nicht.",
    fr: "La session {id} n’existe pas.",
    es: "La sesión {id} no existe.",
  },
  OWN_ACCOUNT_IN_CONSOLE: {
    en: "You cannot change your own account in the console; open /account instead.",
    de: "Das eigene Konto lässt sich in der Konsole nicht ändern; öffnen Sie stattdessen /account.",
    fr: "La console ne permet pas de modifier votre propre compte\u202f; ouvrez plutôt /account.",
    es: "En la consola no puede cambiar su propia cuenta; abra /account.",
  },
} as const satisfies Record<string, Texts>;
