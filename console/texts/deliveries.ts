import type { Texts } from "./text.ts";

/** The texts of given-up deliveries, and of the applications of all projects. */
export const deliveryTexts = {
  title: ["Deliveries", "Zustellungen", "Envois", "Envíos"],
  about: [
    "Mails, SMS and sign-outs that were given up in the last 7 days. Mend the cause, then send them again.",
    "Mails, SMS und Abmeldungen, die in den letzten 7 Tagen aufgegeben wurden. Beheben Sie die Ursache und senden Sie sie erneut.",
    "E-mails, SMS et déconnexions abandonnés ces 7 derniers jours. Corrigez la cause, puis renvoyez-les.",
    "Correos, SMS y cierres de sesión abandonados en los últimos 7 días. Corrija la causa y vuelva a enviarlos.",
  ],
  nothing: [
    "Nothing was given up in the last 7 days.",
    "In den letzten 7 Tagen wurde nichts aufgegeben.",
    "Rien n’a été abandonné ces 7 derniers jours.",
    "Nada se ha abandonado en los últimos 7 días.",
  ],
  receiver: ["For", "Für", "Pour", "Para"],
  why: ["Why", "Warum", "Pourquoi", "Por qué"],
  givenUp: ["Given up", "Aufgegeben", "Abandonné", "Abandonado"],
  where: ["Where", "Wo", "Où", "Dónde"],
  inOrganization: ["This organization", "Diese Organisation", "Cette organisation", "Esta organización"],
  everywhere: ["The whole instance", "Die ganze Instanz", "Toute l’instance", "Toda la instancia"],
  kind: ["Kind", "Art", "Type", "Tipo"],
  all: ["Everything", "Alles", "Tout", "Todo"],
  mails: ["Mails", "Mails", "E-mails", "Correos"],
  sms: ["SMS", "SMS", "SMS", "SMS"],
  signOuts: ["Sign-outs", "Abmeldungen", "Déconnexions", "Cierres de sesión"],
  sendAgain: ["Send again", "Erneut senden", "Renvoyer", "Enviar de nuevo"],
  sendAgainAbout: [
    "It is sent once more, with the same content.",
    "Sie wird noch einmal gesendet, mit demselben Inhalt.",
    "Il est renvoyé une fois, avec le même contenu.",
    "Se envía una vez más, con el mismo contenido.",
  ],
  sentAgain: ["It is on its way", "Sie ist unterwegs", "C’est en route", "Está en camino"],
  expired: ["Expired", "Abgelaufen", "Expiré", "Caducado"],
} as const satisfies Texts;

/** The subjects of mails. */
export const mailTexts = {
  MAIL_KIND_UNSPECIFIED: ["Mail", "Mail", "E-mail", "Correo"],
  MAIL_KIND_VERIFY_EMAIL: ["Address to confirm", "Adresse bestätigen", "Adresse à confirmer", "Confirmar la dirección"],
  MAIL_KIND_RESET_PASSWORD: ["New password", "Neues Passwort", "Nouveau mot de passe", "Contraseña nueva"],
  MAIL_KIND_INVITATION: ["First password", "Erstes Passwort", "Premier mot de passe", "Primera contraseña"],
  MAIL_KIND_ORGANIZATION_INVITATION: ["Invitation", "Einladung", "Invitation", "Invitación"],
  MAIL_KIND_REGISTRATION: ["Registration", "Registrierung", "Inscription", "Registro"],
  MAIL_KIND_REGISTRATION_KNOWN: ["Registration", "Registrierung", "Inscription", "Registro"],
  MAIL_KIND_SIGN_IN: ["Sign-in", "Anmeldung", "Connexion", "Inicio de sesión"],
  MAIL_KIND_PASSWORD_CHANGED: ["Password changed", "Passwort geändert", "Mot de passe modifié", "Contraseña cambiada"],
  MAIL_KIND_FACTOR_ADDED: ["Factor added", "Faktor hinzugefügt", "Facteur ajouté", "Factor añadido"],
  MAIL_KIND_FACTOR_REMOVED: ["Factor removed", "Faktor entfernt", "Facteur supprimé", "Factor eliminado"],
  MAIL_KIND_EMAIL_CHANGED: ["Address changed", "Adresse geändert", "Adresse modifiée", "Dirección cambiada"],
  MAIL_KIND_EMAIL_REPLACED: ["Address changed", "Adresse geändert", "Adresse modifiée", "Dirección cambiada"],
  MAIL_KIND_NEW_DEVICE: ["New device", "Neues Gerät", "Nouvel appareil", "Dispositivo nuevo"],
  MAIL_KIND_ACCOUNT_DELETED: ["Account deleted", "Konto gelöscht", "Compte supprimé", "Cuenta eliminada"],
} as const satisfies Texts;

/** The applications of all projects. */
export const allApplicationTexts = {
  title: ["Applications", "Anwendungen", "Applications", "Aplicaciones"],
  find: ["Name of the application", "Name der Anwendung", "Nom de l’application", "Nombre de la aplicación"],
  project: ["Project", "Projekt", "Projet", "Proyecto"],
  compliance: ["Compliance", "Regeln", "Conformité", "Conformidad"],
  everything: ["All", "Alle", "Toutes", "Todas"],
  compliant: ["Compliant", "Regelkonform", "Conformes", "Conformes"],
  notCompliant: ["Not compliant", "Nicht regelkonform", "Non conformes", "No conformes"],
  noMatch: [
    "No application matches.",
    "Keine Anwendung passt dazu.",
    "Aucune application ne correspond.",
    "Ninguna aplicación coincide.",
  ],
} as const satisfies Texts;
