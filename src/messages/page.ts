import { accountTexts } from "./account_page.ts";
import { choiceTexts } from "./choice_page.ts";
import type { Language, Texts } from "./language.ts";

/** The texts of the sign-in pages. */
export const pageTexts = {
  ...choiceTexts,
  ...accountTexts,
  sign_in: { en: "Sign in", de: "Anmelden", fr: "Se connecter", es: "Iniciar sesión" },
  to_application: {
    en: "to continue to {application}",
    de: "um zu {application} zu gelangen",
    fr: "pour continuer vers {application}",
    es: "para continuar a {application}",
  },
  login_name: { en: "Login name", de: "Anmeldename", fr: "Identifiant", es: "Nombre de usuario" },
  password: { en: "Password", de: "Passwort", fr: "Mot de passe", es: "Contraseña" },
  new_password: { en: "New password", de: "Neues Passwort", fr: "Nouveau mot de passe", es: "Contraseña nueva" },
  wrong: {
    en: "The login name or the password is wrong.",
    de: "Der Anmeldename oder das Passwort ist falsch.",
    fr: "L’identifiant ou le mot de passe est incorrect.",
    es: "El nombre de usuario o la contraseña no es correcto.",
  },
  attempts: {
    en: "Too many attempts. Try again in {seconds} seconds.",
    de: "Zu viele Versuche. Versuchen Sie es in {seconds} Sekunden erneut.",
    fr: "Trop de tentatives. Réessayez dans {seconds} secondes.",
    es: "Demasiados intentos. Vuelva a intentarlo en {seconds} segundos.",
  },
  must_change: {
    en: "Your password has to be changed. Enter the present one and a new one.",
    de: "Ihr Passwort muss geändert werden. Geben Sie das bisherige und ein neues ein.",
    fr: "Votre mot de passe doit être changé. Saisissez l’actuel et un nouveau.",
    es: "Debe cambiar su contraseña. Introduzca la actual y una nueva.",
  },
  factor_title: {
    en: "Second factor",
    de: "Zweiter Faktor",
    fr: "Second facteur",
    es: "Segundo factor",
  },
  factor_text: {
    en: "Enter the code that your authenticator shows, or a recovery code.",
    de: "Geben Sie den Code Ihrer Authenticator-App oder einen Wiederherstellungscode ein.",
    fr: "Saisissez le code de votre application d’authentification, ou un code de récupération.",
    es: "Introduzca el código de su aplicación de autenticación o un código de recuperación.",
  },
  code: { en: "Code", de: "Code", fr: "Code", es: "Código" },
  wrong_code: {
    en: "The code is wrong, or was used already.",
    de: "Der Code ist falsch oder wurde schon verwendet.",
    fr: "Le code est incorrect, ou a déjà été utilisé.",
    es: "El código no es correcto o ya se ha usado.",
  },
  sign_in_over: {
    en: "This took too long, or something has changed. Sign in again.",
    de: "Das hat zu lange gedauert, oder etwas hat sich geändert. Melden Sie sich erneut an.",
    fr: "Cela a pris trop de temps, ou quelque chose a changé. Connectez-vous de nouveau.",
    es: "Ha tardado demasiado o algo ha cambiado. Inicie sesión de nuevo.",
  },
  factor_needed: {
    en: "Your organization asks for a second factor, and you have none yet. Ask those who run the service how to set one up.",
    de: "Ihre Organisation verlangt einen zweiten Faktor, und Sie haben noch keinen. Fragen Sie die Betreiber, wie Sie einen einrichten.",
    fr: "Votre organisation exige un second facteur, et vous n’en avez pas encore. Demandez à ceux qui exploitent le service comment en configurer un.",
    es: "Su organización exige un segundo factor y usted todavía no tiene ninguno. Pregunte a quienes administran el servicio cómo configurarlo.",
  },
  continue_title: {
    en: "Continue to {application}?",
    de: "Weiter zu {application}?",
    fr: "Continuer vers {application} ?",
    es: "¿Continuar a {application}?",
  },
  continue_text: {
    en: "You are signed in as {name}.",
    de: "Sie sind angemeldet als {name}.",
    fr: "Vous êtes connecté en tant que {name}.",
    es: "Ha iniciado sesión como {name}.",
  },
  continue: { en: "Continue", de: "Weiter", fr: "Continuer", es: "Continuar" },
  other_account: {
    en: "Use another account",
    de: "Anderes Konto verwenden",
    fr: "Utiliser un autre compte",
    es: "Usar otra cuenta",
  },
  cancel: { en: "Cancel", de: "Abbrechen", fr: "Annuler", es: "Cancelar" },
  signed_in: { en: "You are signed in", de: "Sie sind angemeldet", fr: "Vous êtes connecté", es: "Ha iniciado sesión" },
  return_text: {
    en: "Return to {application} to go on.",
    de: "Kehren Sie zu {application} zurück, um fortzufahren.",
    fr: "Retournez à {application} pour continuer.",
    es: "Vuelva a {application} para continuar.",
  },
  open_application: {
    en: "Open {application}",
    de: "{application} öffnen",
    fr: "Ouvrir {application}",
    es: "Abrir {application}",
  },
  error: {
    en: "This sign-in cannot go on",
    de: "Diese Anmeldung kann nicht fortgesetzt werden",
    fr: "Cette connexion ne peut pas continuer",
    es: "Este inicio de sesión no puede continuar",
  },
  error_help: {
    en: "Go back to the application and start again. If that does not help, show this page to those who run it.",
    de: "Gehen Sie zur Anwendung zurück und beginnen Sie neu. Hilft das nicht, zeigen Sie diese Seite deren Betreibern.",
    fr: "Retournez à l’application et recommencez. Si cela n’aide pas, montrez cette page à ceux qui l’exploitent.",
    es: "Vuelva a la aplicación y empiece de nuevo. Si no ayuda, muestre esta página a quienes la administran.",
  },
  client_unknown: {
    en: "No application in use has this client_id.",
    de: "Keine Anwendung in Betrieb hat diese client_id.",
    fr: "Aucune application en service n’a ce client_id.",
    es: "Ninguna aplicación en uso tiene este client_id.",
  },
  redirect_uri_unknown: {
    en: "The redirect_uri is missing, or not one of those that are registered for the application.",
    de: "Die redirect_uri fehlt oder ist nicht für die Anwendung registriert.",
    fr: "La redirect_uri manque ou n’est pas enregistrée pour l’application.",
    es: "Falta la redirect_uri o no está registrada para la aplicación.",
  },
  request_malformed: {
    en: "The request of the application cannot be read: {problem}.",
    de: "Die Anfrage der Anwendung ist nicht lesbar: {problem}.",
    fr: "La demande de l’application est illisible : {problem}.",
    es: "La solicitud de la aplicación no se puede leer: {problem}.",
  },
  expired: {
    en: "This page has expired, or your browser keeps no cookies.",
    de: "Diese Seite ist abgelaufen, oder Ihr Browser speichert keine Cookies.",
    fr: "Cette page a expiré, ou votre navigateur ne garde pas de cookies.",
    es: "Esta página ha caducado o su navegador no guarda cookies.",
  },
  busy: {
    en: "The service cannot answer for the moment. Try again in a little while.",
    de: "Der Dienst kann im Augenblick nicht antworten. Versuchen Sie es in Kürze erneut.",
    fr: "Le service ne peut pas répondre pour le moment. Réessayez dans un instant.",
    es: "El servicio no puede responder por el momento. Vuelva a intentarlo dentro de poco.",
  },
} as const satisfies Record<string, Texts>;

/** The name of a text of a page. */
export type PageText = keyof typeof pageTexts;

/** Returns a text of a page, with the values of its parameters. */
export const pageText = (key: PageText, language: Language, params: Readonly<Record<string, string>> = {}): string =>
  pageTexts[key][language].replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? "…");
