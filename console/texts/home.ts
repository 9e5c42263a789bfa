import type { Texts } from "./text.ts";

/** The texts of the home page. */
export const homeTexts = {
  attention: ["Needs attention", "Braucht Aufmerksamkeit", "À surveiller", "Requiere atención"],
  allGood: [
    "Nothing needs your attention.",
    "Nichts braucht Ihre Aufmerksamkeit.",
    "Rien à signaler.",
    "Nada requiere su atención.",
  ],
  lockedUsers: ["Locked users", "Gesperrte Benutzer", "Utilisateurs verrouillés", "Usuarios bloqueados"],
  pendingInvitations: [
    "Invitations without an answer",
    "Einladungen ohne Antwort",
    "Invitations sans réponse",
    "Invitaciones sin respuesta",
  ],
  expiringAccessTokens: [
    "Access tokens that expire within 30 days",
    "Zugriffstoken, die in 30 Tagen ablaufen",
    "Jetons d’accès expirant sous 30 jours",
    "Tokens de acceso que caducan en 30 días",
  ],
  expiringClientSecrets: [
    "Replaced client secrets that stop working within 30 days",
    "Ersetzte Client-Geheimnisse, die in 30 Tagen enden",
    "Secrets remplacés expirant sous 30 jours",
    "Secretos sustituidos que caducan en 30 días",
  ],
  notCompliantApplications: [
    "Applications that break a rule",
    "Anwendungen, die gegen eine Regel verstoßen",
    "Applications qui enfreignent une règle",
    "Aplicaciones que incumplen una regla",
  ],
  mailsGivenUp: [
    "Mails given up in the last 7 days",
    "In 7 Tagen aufgegebene Mails",
    "E-mails abandonnés en 7 jours",
    "Correos abandonados en 7 días",
  ],
  smsGivenUp: [
    "SMS given up in the last 7 days",
    "In 7 Tagen aufgegebene SMS",
    "SMS abandonnés en 7 jours",
    "SMS abandonados en 7 días",
  ],
  signOutsGivenUp: [
    "Sign-outs that applications did not accept in the last 7 days",
    "Abmeldungen, die Anwendungen in 7 Tagen nicht annahmen",
    "Déconnexions refusées par des applications en 7 jours",
    "Cierres de sesión no aceptados por aplicaciones en 7 días",
  ],
  yourRoles: ["Your roles", "Ihre Rollen", "Vos rôles", "Sus roles"],
  yourRolesAbout: [
    "What you may manage, and where.",
    "Was Sie verwalten dürfen, und wo.",
    "Ce que vous pouvez gérer, et où.",
    "Lo que puede administrar y dónde.",
  ],
  theInstance: ["The whole instance", "Die ganze Instanz", "Toute l’instance", "Toda la instancia"],
  latest: ["Latest events", "Letzte Ereignisse", "Derniers événements", "Últimos eventos"],
  allEvents: ["All events", "Alle Ereignisse", "Tous les événements", "Todos los eventos"],
  version: ["Version", "Version", "Version", "Versión"],
  migrations: ["Migrations", "Migrationen", "Migrations", "Migraciones"],
  signingKeys: ["Signing keys", "Signaturschlüssel", "Clés de signature", "Claves de firma"],
  signsFrom: ["signs from", "signiert ab", "signe dès", "firma desde"],
} satisfies Texts;
