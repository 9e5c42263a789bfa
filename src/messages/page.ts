import { accountFormTexts } from "./account_forms.ts";
import { accountTexts } from "./account_page.ts";
import { choiceTexts } from "./choice_page.ts";
import { deviceTexts } from "./device.ts";
import { factorPageTexts } from "./factor_page.ts";
import { firstRunPageTexts } from "./first_run_page.ts";
import { invitationPageTexts } from "./invitation_page.ts";
import type { Language, Texts } from "./language.ts";
import { mailPageTexts } from "./mail_page.ts";
import { registrationPageTexts } from "./registration_page.ts";
import { requestProblemTexts } from "./request_problem.ts";

/** The texts of the sign-in pages. */
export const pageTexts = {
  ...choiceTexts,
  ...accountTexts,
  ...accountFormTexts,
  ...deviceTexts,
  ...factorPageTexts,
  ...mailPageTexts,
  ...firstRunPageTexts,
  ...invitationPageTexts,
  ...registrationPageTexts,
  ...requestProblemTexts,
  sign_in: { en: "Sign in", de: "Anmelden", fr: "Se connecter", es: "Iniciar sesión" },
  to_application: {
    en: "to continue to {application}",
    de: "um zu {application} zu gelangen",
    fr: "pour continuer vers {application}",
    es: "para acceder a {application}",
  },
  organization_ask: {
    en: "Name your organization",
    de: "Organisation angeben",
    fr: "Indiquer votre organisation",
    es: "Indicar su organización",
  },
  organization: {
    en: "Domain or id of the organization",
    de: "Domain oder ID der Organisation",
    fr: "Domaine ou identifiant de l’organisation",
    es: "Dominio o id de la organización",
  },
  password: { en: "Password", de: "Passwort", fr: "Mot de passe", es: "Contraseña" },
  new_password: { en: "New password", de: "Neues Passwort", fr: "Nouveau mot de passe", es: "Contraseña nueva" },
  language: { en: "Language", de: "Sprache", fr: "Langue", es: "Idioma" },
  show: { en: "Show", de: "Anzeigen", fr: "Afficher", es: "Mostrar" },
  hide: { en: "Hide", de: "Verbergen", fr: "Masquer", es: "Ocultar" },
  wrong: {
    en: "The login name or the password is wrong.",
    de: "Der Anmeldename oder das Passwort ist falsch.",
    fr: "L’identifiant ou le mot de passe est incorrect.",
    es: "El nombre de usuario o la contraseña no son correctos.",
  },
  attempts: {
    en: "Too many attempts. Try again in {wait}.",
    de: "Zu viele Versuche. Versuchen Sie es in {wait} erneut.",
    fr: "Trop de tentatives. Réessayez dans {wait}.",
    es: "Demasiados intentos. Vuelva a intentarlo en {wait}.",
  },
  must_change: {
    en: "You must change your password. Enter your current password and a new one.",
    de: "Ihr Passwort muss geändert werden. Geben Sie das bisherige und ein neues ein.",
    fr: "Votre mot de passe doit être changé. Saisissez le mot de passe actuel et un nouveau.",
    es: "Debe cambiar su contraseña. Introduzca la actual y una nueva.",
  },
  continue_title: {
    en: "Continue to {application}?",
    de: "Weiter zu {application}?",
    fr: "Continuer vers {application}\u202f?",
    es: "¿Ir a {application}?",
  },
  continue_text: {
    en: "You are signed in as {name}.",
    de: "Sie sind als {name} angemeldet.",
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
    en: "Return to {application} to continue.",
    de: "Kehren Sie zu {application} zurück, um fortzufahren.",
    fr: "Revenez à {application} pour continuer.",
    es: "Vuelva a {application} para continuar.",
  },
  returning: {
    en: "Returning to {application}",
    de: "Zurück zu {application}",
    fr: "Retour à {application}",
    es: "Volver a {application}",
  },
  open_application: {
    en: "Open {application}",
    de: "{application} öffnen",
    fr: "Ouvrir {application}",
    es: "Abrir {application}",
  },
  error: {
    en: "This sign-in cannot continue",
    de: "Diese Anmeldung kann nicht fortgesetzt werden",
    fr: "La connexion ne peut pas se poursuivre",
    es: "Este inicio de sesión no puede continuar",
  },
  error_help: {
    en: "Go back to the application and start again. If that does not help, show this page to the people who run it.",
    de: "Gehen Sie zur Anwendung zurück und beginnen Sie neu. Hilft das nicht, zeigen Sie diese Seite den Betreibern der Anwendung.",
    fr: "Revenez à l’application et recommencez. Si le problème persiste, montrez cette page aux responsables de l’application.",
    es: "Vuelva a la aplicación y empiece de nuevo. Si el problema continúa, muestre esta página a los responsables de la aplicación.",
  },
  error_details: {
    en: "Details for support:",
    de: "Angaben für den Support:",
    fr: "Détails pour l’assistance\u202f:",
    es: "Datos para el servicio de asistencia:",
  },
  client_unknown: {
    en: "No active application has this client_id.",
    de: "Keine Anwendung in Betrieb hat diese client_id.",
    fr: "Aucune application en service n’a ce client_id.",
    es: "Ninguna aplicación en uso tiene este client_id.",
  },
  redirect_uri_unknown: {
    en: "The redirect_uri is missing or is not registered for the application.",
    de: "Die redirect_uri fehlt oder ist nicht für die Anwendung registriert.",
    fr: "La redirect_uri est absente, ou n’est pas enregistrée pour l’application.",
    es: "Falta la redirect_uri o no está registrada para la aplicación.",
  },
  request_malformed: {
    en: "The application’s request cannot be answered: {problem}.",
    de: "Die Anfrage der Anwendung kann nicht beantwortet werden: {problem}.",
    fr: "La demande de l’application ne peut pas aboutir\u202f: {problem}.",
    es: "La solicitud de la aplicación no se puede atender: {problem}.",
  },
  expired: {
    en: "This page has expired, or your browser does not keep cookies.",
    de: "Diese Seite ist abgelaufen, oder Ihr Browser speichert keine Cookies.",
    fr: "Cette page a expiré, ou votre navigateur n’enregistre pas les cookies.",
    es: "Esta página ha caducado o su navegador no guarda cookies.",
  },
  wrong_address: {
    en: "These pages work only at {issuer}. Open them there, or ask the operator to set PUBLIC_URL to the address that people use.",
    de: "Diese Seiten funktionieren nur unter {issuer}. Öffnen Sie sie dort, oder lassen Sie PUBLIC_URL auf die Adresse setzen, die alle verwenden.",
    fr: "Ces pages ne fonctionnent qu’à l’adresse {issuer}. Ouvrez-les à cette adresse, ou faites régler PUBLIC_URL sur l’adresse utilisée.",
    es: "Estas páginas solo funcionan en {issuer}. Ábralas allí o pida que PUBLIC_URL indique la dirección que se usa.",
  },
  terms: { en: "Terms", de: "Nutzungsbedingungen", fr: "Conditions", es: "Condiciones" },
  privacy: { en: "Privacy", de: "Datenschutz", fr: "Confidentialité", es: "Privacidad" },
  help: { en: "Help", de: "Hilfe", fr: "Aide", es: "Ayuda" },
  to_account: {
    en: "to continue to your account",
    de: "um zu Ihrem Konto zu gelangen",
    fr: "pour continuer vers votre compte",
    es: "para acceder a su cuenta",
  },
  begin_again: { en: "Start again", de: "Neu beginnen", fr: "Recommencer", es: "Empezar de nuevo" },
  sign_out: { en: "Sign out", de: "Abmelden", fr: "Se déconnecter", es: "Cerrar sesión" },
  sign_out_title: {
    en: "Do you want to sign out?",
    de: "Möchten Sie sich abmelden?",
    fr: "Voulez-vous vous déconnecter\u202f?",
    es: "¿Quiere cerrar la sesión?",
  },
  sign_out_text: {
    en: "{application} asks you to sign out. The applications that you are signed in to are notified.",
    de: "{application} bittet darum. Anwendungen, bei denen Sie angemeldet sind, erfahren davon.",
    fr: "{application} le demande. Les applications auxquelles vous êtes connecté en sont informées.",
    es: "{application} lo pide. Se informará a las aplicaciones en las que ha iniciado sesión.",
  },
  signed_out: {
    en: "You are signed out",
    de: "Sie sind abgemeldet",
    fr: "Vous êtes déconnecté",
    es: "Ha cerrado la sesión",
  },
  still_signed_in: {
    en: "You are still signed in",
    de: "Sie sind weiterhin angemeldet",
    fr: "Vous êtes toujours connecté",
    es: "Su sesión sigue abierta",
  },
  close_page: {
    en: "You can close this page.",
    de: "Sie können diese Seite schließen.",
    fr: "Vous pouvez fermer cette page.",
    es: "Puede cerrar esta página.",
  },
  lost: { en: "Page not found", de: "Seite nicht gefunden", fr: "Page introuvable", es: "Página no encontrada" },
  lost_path: {
    en: "There is no page at this address.",
    de: "Unter dieser Adresse gibt es keine Seite.",
    fr: "Il n’y a pas de page à cette adresse.",
    es: "No hay ninguna página en esta dirección.",
  },
  lost_form: {
    en: "This address accepts only forms. To sign in, start from your application.",
    de: "Diese Adresse nimmt nur Formulare entgegen. Um sich anzumelden, beginnen Sie bei Ihrer Anwendung.",
    fr: "Cette adresse n’accepte que des formulaires. Pour vous connecter, partez de votre application.",
    es: "Esta dirección solo acepta formularios. Para iniciar sesión, empiece desde su aplicación.",
  },
  sign_out_error: {
    en: "This sign-out cannot continue",
    de: "Diese Abmeldung kann nicht fortgesetzt werden",
    fr: "La déconnexion ne peut pas se poursuivre",
    es: "Este cierre de sesión no puede continuar",
  },
  hint_of_other_client: {
    en: "The id_token_hint and the client_id belong to different applications.",
    de: "Der id_token_hint gehört zu einer anderen Anwendung als die client_id.",
    fr: "L’id_token_hint appartient à une autre application que le client_id.",
    es: "El id_token_hint pertenece a otra aplicación que el client_id.",
  },
  logout_uri_unknown: {
    en: "The post_logout_redirect_uri is not registered for the application.",
    de: "Die post_logout_redirect_uri ist nicht für die Anwendung registriert.",
    fr: "La post_logout_redirect_uri n’est pas enregistrée pour l’application.",
    es: "La post_logout_redirect_uri no está registrada para la aplicación.",
  },
  busy_title: {
    en: "Temporarily unavailable",
    de: "Vorübergehend nicht verfügbar",
    fr: "Momentanément indisponible",
    es: "No disponible por el momento",
  },
  busy: {
    en: "The service cannot respond at the moment. Try again shortly.",
    de: "Der Dienst kann im Augenblick nicht antworten. Versuchen Sie es in Kürze erneut.",
    fr: "Le service ne peut pas répondre pour le moment. Réessayez dans un instant.",
    es: "El servicio no puede responder por el momento. Vuelva a intentarlo dentro de poco.",
  },
  busy_form: {
    en: "To send the form again, go back in your browser.",
    de: "Um das Formular noch einmal zu senden, gehen Sie im Browser zurück.",
    fr: "Pour renvoyer le formulaire, revenez en arrière dans votre navigateur.",
    es: "Para volver a enviar el formulario, retroceda en el navegador.",
  },
  try_again: { en: "Try again", de: "Erneut versuchen", fr: "Réessayer", es: "Reintentar" },
} as const satisfies Record<string, Texts>;

/** The name of a text of a page. */
export type PageText = keyof typeof pageTexts;

/** Returns a text of a page, with the values of its parameters. */
export const pageText = (key: PageText, language: Language, params: Readonly<Record<string, string>> = {}): string =>
  pageTexts[key][language].replace(/\{(\w+)\}/g, (_, name: string) => inSentence(params[name] ?? "…"));

/** A name without characters that reverse the text around it, such as U+202E, which could turn it into another sentence. */
export const inSentence = (value: string): string => value.replace(/[\p{Bidi_Control}\p{Cc}]/gu, "");

/** A number of days, in words. */
export const daysText = (days: number, language: Language): string => unitText(days, "day", language);

/** A time to wait, in words: in seconds up to two minutes, then in minutes. */
export function durationText(seconds: number, language: Language): string {
  const [count, unit] = seconds <= 120 ? [seconds, "second"] : [Math.ceil(seconds / 60), "minute"];
  return unitText(count, unit, language);
}

const unitText = (count: number, unit: string, language: Language): string =>
  new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(count);
