import type { Language } from "./language.ts";

/** The kinds of mail. */
export type MailKind = "verify_email" | "reset_password" | "invitation";

/** The sentences of a mail: its subject, those before its codes and those after them. */
export type MailTexts = { readonly subject: string; readonly before: string; readonly after: string };

/** The texts of every mail, in every language. */
export const mailTexts: Readonly<Record<MailKind, Readonly<Record<Language, MailTexts>>>> = {
  verify_email: {
    en: {
      subject: "Confirm your e-mail address",
      before: "Enter this code to confirm your e-mail address:",
      after: "The code is valid for one hour. If you did not ask for it, ignore this message.",
    },
    de: {
      subject: "Bestätigen Sie Ihre E-Mail-Adresse",
      before: "Geben Sie diesen Code ein, um Ihre E-Mail-Adresse zu bestätigen:",
      after: "Der Code gilt eine Stunde. Wenn Sie ihn nicht angefordert haben, ignorieren Sie diese Nachricht.",
    },
    fr: {
      subject: "Confirmez votre adresse e-mail",
      before: "Saisissez ce code pour confirmer votre adresse e-mail\u202f:",
      after: "Le code est valable une heure. Si vous ne l’avez pas demandé, ignorez ce message.",
    },
    es: {
      subject: "Confirme su dirección de correo electrónico",
      before: "Introduzca este código para confirmar su dirección de correo electrónico:",
      after: "El código es válido durante una hora. Si no lo ha solicitado, ignore este mensaje.",
    },
  },
  reset_password: {
    en: {
      subject: "Choose a new password",
      before: "A new password was requested for this e-mail address. Enter the code of your account to choose one:",
      after:
        "Each code is valid for one hour and works once. If you did not ask for it, ignore this message: the password stays as it is.",
    },
    de: {
      subject: "Wählen Sie ein neues Passwort",
      before:
        "Für diese E-Mail-Adresse wurde ein neues Passwort angefordert. Geben Sie den Code Ihres Kontos ein, um eines zu wählen:",
      after:
        "Jeder Code gilt eine Stunde und nur einmal. Wenn Sie ihn nicht angefordert haben, ignorieren Sie diese Nachricht: Das Passwort bleibt, wie es ist.",
    },
    fr: {
      subject: "Choisissez un nouveau mot de passe",
      before:
        "Un nouveau mot de passe a été demandé pour cette adresse e-mail. Saisissez le code de votre compte pour en choisir un\u202f:",
      after:
        "Chaque code est valable une heure et une seule fois. Si vous ne l’avez pas demandé, ignorez ce message\u202f: le mot de passe reste inchangé.",
    },
    es: {
      subject: "Elija una contraseña nueva",
      before:
        "Se ha solicitado una contraseña nueva para esta dirección de correo electrónico. Introduzca el código de su cuenta para elegirla:",
      after:
        "Cada código es válido durante una hora y una sola vez. Si no lo ha solicitado, ignore este mensaje: la contraseña no cambia.",
    },
  },
  invitation: {
    en: {
      subject: "Your account is ready",
      before: "An account was made for you. Enter its code to choose your first password:",
      after: "The code is valid for one day and works once. If you do not expect an account, ignore this message.",
    },
    de: {
      subject: "Ihr Konto ist bereit",
      before: "Für Sie wurde ein Konto angelegt. Geben Sie seinen Code ein, um Ihr erstes Passwort zu wählen:",
      after: "Der Code gilt einen Tag und nur einmal. Wenn Sie kein Konto erwarten, ignorieren Sie diese Nachricht.",
    },
    fr: {
      subject: "Votre compte est prêt",
      before: "Un compte a été créé pour vous. Saisissez son code pour choisir votre premier mot de passe\u202f:",
      after: "Le code est valable un jour et une seule fois. Si vous n’attendez pas de compte, ignorez ce message.",
    },
    es: {
      subject: "Su cuenta está lista",
      before: "Se ha creado una cuenta para usted. Introduzca su código para elegir su primera contraseña:",
      after: "El código es válido durante un día y una sola vez. Si no espera ninguna cuenta, ignore este mensaje.",
    },
  },
};

/** Introduces the login name of an account, in every language. */
export const accountLabel: Readonly<Record<Language, string>> = {
  en: "Account:",
  de: "Konto:",
  fr: "Compte\u202f:",
  es: "Cuenta:",
};

/** Introduces the link to a page that takes the code, in every language. */
export const linkLabel: Readonly<Record<Language, string>> = {
  en: "Or open this page:",
  de: "Oder öffnen Sie diese Seite:",
  fr: "Ou ouvrez cette page\u202f:",
  es: "O abra esta página:",
};
