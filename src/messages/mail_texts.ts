import type { Language } from "./language.ts";

/** The kinds of mail that tell users about a change to their account. */
export const noticeKinds = [
  "password_changed",
  "factor_added",
  "factor_removed",
  "email_changed",
  "email_replaced",
  "new_device",
  "account_deleted",
] as const;

/** A kind of mail that tells users about a change to their account. */
export type NoticeKind = (typeof noticeKinds)[number];

/** The subject matter of such a mail, as named in the settings. */
export type NoticeTopic = "password" | "factor" | "email" | "device" | "account";

/** The kinds of mail. */
export type MailKind =
  | "verify_email"
  | "reset_password"
  | "invitation"
  | "organization_invitation"
  | "registration"
  | "registration_known"
  | "sign_in"
  | NoticeKind;

/** The kinds of notice that have no code: `email_changed` has one that undoes the change. */
export const plainNotices = noticeKinds.filter((kind) => kind !== "email_changed");

/** Whether a mail of this kind only tells users about a change. */
export const isNotice = (kind: MailKind): kind is NoticeKind => noticeKinds.some((notice) => notice === kind);

// Only the user knows whether the change was intended.
const otherwise = {
  en: "If this was you, you do not need to do anything. If not, tell the people who run this service.",
  de: "Wenn Sie das selbst waren, müssen Sie nichts tun. Andernfalls informieren Sie die Betreiber dieses Dienstes.",
  fr: "Si c’était vous, vous n’avez rien à faire. Sinon, prévenez les responsables de ce service.",
  es: "Si ha sido usted, no tiene que hacer nada. Si no, avise a los responsables de este servicio.",
} as const;

/** The sentences of a mail: its subject, and those before and after its codes. */
export type MailTexts = { readonly subject: string; readonly before: string; readonly after: string };

/** The texts of each kind of mail, in each language. */
export const mailTexts: Readonly<Record<MailKind, Readonly<Record<Language, MailTexts>>>> = {
  verify_email: {
    en: {
      subject: "Confirm your email address",
      before: "Enter this code to confirm your email address:",
      after: "The code is valid for one hour. If you did not request it, ignore this message.",
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
      before: "A new password was requested for this email address. To choose one, enter the code for your account:",
      after:
        "Each code is valid for one hour and works once. If you did not request it, ignore this message: your password does not change.",
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
      before: "An account was created for you. Enter its code to choose your first password:",
      after: "The code is valid for one day and works once. If you are not expecting an account, ignore this message.",
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
  organization_invitation: {
    en: {
      subject: "You are invited",
      before:
        "You are invited to join an organization. With this code you see what you are offered, and accept or decline:",
      after: "The invitation is valid for seven days. If you do not expect it, ignore this message.",
    },
    de: {
      subject: "Sie sind eingeladen",
      before:
        "Sie sind in eine Organisation eingeladen. Mit diesem Code sehen Sie, was Ihnen angeboten wird, und nehmen an oder lehnen ab:",
      after: "Die Einladung gilt sieben Tage. Wenn Sie sie nicht erwarten, ignorieren Sie diese Nachricht.",
    },
    fr: {
      subject: "Vous êtes invité",
      before:
        "Vous êtes invité à rejoindre une organisation. Avec ce code, vous voyez ce qui vous est proposé, et vous acceptez ou refusez\u202f:",
      after: "L’invitation est valable sept jours. Si vous ne l’attendez pas, ignorez ce message.",
    },
    es: {
      subject: "Tiene una invitación",
      before:
        "Se le invita a unirse a una organización. Con este código puede ver lo que se le ofrece, y aceptar o rechazar:",
      after: "La invitación es válida durante siete días. Si no la espera, ignore este mensaje.",
    },
  },
  registration: {
    en: {
      subject: "Create your account",
      before: "This email address was entered to create an account. Enter this code to continue:",
      after: "The code is valid for one hour. If you did not request it, ignore this message: no account is created.",
    },
    de: {
      subject: "Legen Sie Ihr Konto an",
      before:
        "Diese E-Mail-Adresse wurde eingegeben, um ein Konto anzulegen. Geben Sie diesen Code ein, um fortzufahren:",
      after:
        "Der Code gilt eine Stunde. Wenn Sie ihn nicht angefordert haben, ignorieren Sie diese Nachricht: Es wird kein Konto angelegt.",
    },
    fr: {
      subject: "Créez votre compte",
      before: "Cette adresse e-mail a été saisie pour créer un compte. Saisissez ce code pour continuer\u202f:",
      after:
        "Le code est valable une heure. Si vous ne l’avez pas demandé, ignorez ce message\u202f: aucun compte n’est créé.",
    },
    es: {
      subject: "Cree su cuenta",
      before:
        "Se ha introducido esta dirección de correo electrónico para crear una cuenta. Introduzca este código para continuar:",
      after:
        "El código es válido durante una hora. Si no lo ha solicitado, ignore este mensaje: no se crea ninguna cuenta.",
    },
  },
  registration_known: {
    en: {
      subject: "You already have an account",
      before:
        "This email address was entered to create an account, but an account with it already exists. Go back and sign in with it instead.",
      after: "If you did not request this, ignore this message: your account does not change.",
    },
    de: {
      subject: "Sie haben schon ein Konto",
      before:
        "Diese E-Mail-Adresse wurde eingegeben, um ein Konto anzulegen, aber es gibt schon ein Konto mit ihr. Gehen Sie zurück und melden Sie sich damit an.",
      after: "Wenn Sie das nicht selbst waren, ignorieren Sie diese Nachricht: Ihr Konto bleibt, wie es ist.",
    },
    fr: {
      subject: "Vous avez déjà un compte",
      before:
        "Cette adresse e-mail a été saisie pour créer un compte, mais il existe déjà un compte avec elle. Revenez en arrière et connectez-vous avec ce compte.",
      after: "Si ce n’était pas vous, ignorez ce message\u202f: votre compte reste inchangé.",
    },
    es: {
      subject: "Ya tiene una cuenta",
      before:
        "Se ha introducido esta dirección de correo electrónico para crear una cuenta, pero ya existe una cuenta con ella. Vuelva atrás e inicie sesión con esa cuenta.",
      after: "Si no ha sido usted, ignore este mensaje: su cuenta no cambia.",
    },
  },
  sign_in: {
    en: {
      subject: "Your code to sign in",
      before: "Enter this code where you are signing in:",
      after:
        "The code is valid for 15 minutes and only in the browser in which you requested it. Do not give it to anyone. If you did not request it, ignore this message.",
    },
    de: {
      subject: "Ihr Code zum Anmelden",
      before: "Geben Sie diesen Code dort ein, wo Sie sich anmelden:",
      after:
        "Der Code gilt 15 Minuten und nur in dem Browser, in dem Sie ihn angefordert haben. Geben Sie ihn niemandem. Wenn Sie ihn nicht angefordert haben, ignorieren Sie diese Nachricht.",
    },
    fr: {
      subject: "Votre code de connexion",
      before: "Saisissez ce code là où vous vous connectez :",
      after:
        "Le code est valable 15 minutes et seulement dans le navigateur où vous l’avez demandé. Ne le donnez à personne. Si vous ne l’avez pas demandé, ignorez ce message.",
    },
    es: {
      subject: "Su código para iniciar sesión",
      before: "Introduzca este código donde está iniciando sesión:",
      after:
        "El código es válido durante 15 minutos y solo en el navegador en el que lo solicitó. No se lo dé a nadie. Si no lo ha solicitado, ignore este mensaje.",
    },
  },
  password_changed: {
    en: {
      subject: "Your password was changed",
      before: "The password of your account was changed.",
      after: otherwise.en,
    },
    de: {
      subject: "Ihr Passwort wurde geändert",
      before: "Das Passwort Ihres Kontos wurde geändert.",
      after: otherwise.de,
    },
    fr: {
      subject: "Votre mot de passe a été modifié",
      before: "Le mot de passe de votre compte a été modifié.",
      after: otherwise.fr,
    },
    es: {
      subject: "Se ha cambiado su contraseña",
      before: "Se ha cambiado la contraseña de su cuenta.",
      after: otherwise.es,
    },
  },
  factor_added: {
    en: {
      subject: "A second factor was added",
      before: "A second factor, or a new set of recovery codes, was added to your account.",
      after: otherwise.en,
    },
    de: {
      subject: "Ein zweiter Faktor wurde eingerichtet",
      before: "Für Ihr Konto wurde ein zweiter Faktor eingerichtet, oder es gibt neue Wiederherstellungscodes.",
      after: otherwise.de,
    },
    fr: {
      subject: "Un second facteur a été ajouté",
      before: "Un second facteur ou de nouveaux codes de récupération ont été ajoutés à votre compte.",
      after: otherwise.fr,
    },
    es: {
      subject: "Se ha añadido un segundo factor",
      before: "Se ha añadido a su cuenta un segundo factor o nuevos códigos de recuperación.",
      after: otherwise.es,
    },
  },
  factor_removed: {
    en: {
      subject: "A second factor was removed",
      before: "A second factor was removed from your account.",
      after: otherwise.en,
    },
    de: {
      subject: "Ein zweiter Faktor wurde entfernt",
      before: "Ein zweiter Faktor Ihres Kontos wurde entfernt.",
      after: otherwise.de,
    },
    fr: {
      subject: "Un second facteur a été supprimé",
      before: "Un second facteur de votre compte a été supprimé.",
      after: otherwise.fr,
    },
    es: {
      subject: "Se ha eliminado un segundo factor",
      before: "Se ha eliminado un segundo factor de su cuenta.",
      after: otherwise.es,
    },
  },
  email_changed: {
    en: {
      subject: "The email address of your account was changed",
      before: "The email address of your account was changed, or has to be confirmed again.",
      after:
        "The page works for three days. It ends all sessions of your account, revokes its access tokens and restores this address. Your password does not change: choose a new one afterwards. If you changed the address yourself, ignore this message.",
    },
    de: {
      subject: "Die E-Mail-Adresse Ihres Kontos wurde geändert",
      before: "Die E-Mail-Adresse Ihres Kontos wurde geändert oder muss neu bestätigt werden.",
      after:
        "Die Seite gilt drei Tage. Sie beendet alle Sitzungen und Zugriffstoken Ihres Kontos und stellt diese Adresse wieder her. Ihr Passwort bleibt, wie es ist: Wählen Sie danach ein neues. Wenn Sie die Adresse selbst geändert haben, ignorieren Sie diese Nachricht.",
    },
    fr: {
      subject: "L’adresse e-mail de votre compte a été modifiée",
      before: "L’adresse e-mail de votre compte a été modifiée ou doit être confirmée de nouveau.",
      after:
        "La page est valable trois jours. Elle met fin à toutes les sessions et à tous les jetons d’accès de votre compte, et rétablit cette adresse. Votre mot de passe reste inchangé\u202f: choisissez-en un nouveau ensuite. Si vous avez modifié l’adresse vous-même, ignorez ce message.",
    },
    es: {
      subject: "Se ha cambiado la dirección de correo electrónico de su cuenta",
      before: "La dirección de correo electrónico de su cuenta se ha cambiado o debe confirmarse de nuevo.",
      after:
        "La página es válida durante tres días. Cierra todas las sesiones y anula todos los tokens de acceso de su cuenta, y restablece esta dirección. Su contraseña no cambia: elija otra después. Si ha cambiado la dirección usted mismo, ignore este mensaje.",
    },
  },
  email_replaced: {
    en: {
      subject: "Your account has a new email address",
      before: "The email address of your account was changed, or has to be confirmed again.",
      after: otherwise.en,
    },
    de: {
      subject: "Ihr Konto hat eine andere E-Mail-Adresse",
      before: "Die E-Mail-Adresse Ihres Kontos wurde geändert oder muss neu bestätigt werden.",
      after: otherwise.de,
    },
    fr: {
      subject: "Votre compte a une autre adresse e-mail",
      before: "L’adresse e-mail de votre compte a été modifiée ou doit être confirmée de nouveau.",
      after: otherwise.fr,
    },
    es: {
      subject: "Su cuenta tiene otra dirección de correo electrónico",
      before: "La dirección de correo electrónico de su cuenta se ha cambiado o debe confirmarse de nuevo.",
      after: otherwise.es,
    },
  },
  new_device: {
    en: {
      subject: "A new browser signed in",
      before: "Someone signed in to your account in a browser that we have not seen before.",
      after: otherwise.en,
    },
    de: {
      subject: "Anmeldung in einem neuen Browser",
      before: "Jemand hat sich in einem bisher unbekannten Browser bei Ihrem Konto angemeldet.",
      after: otherwise.de,
    },
    fr: {
      subject: "Connexion depuis un nouveau navigateur",
      before: "Quelqu’un s’est connecté à votre compte depuis un navigateur inconnu jusqu’ici.",
      after: otherwise.fr,
    },
    es: {
      subject: "Inicio de sesión en un navegador nuevo",
      before: "Alguien ha iniciado sesión en su cuenta desde un navegador hasta ahora desconocido.",
      after: otherwise.es,
    },
  },
  account_deleted: {
    en: {
      subject: "Your account was deleted",
      before:
        "Your account was deleted from its own pages. For a few days, the people who run this service can restore it.",
      after: otherwise.en,
    },
    de: {
      subject: "Ihr Konto wurde gelöscht",
      before:
        "Ihr Konto wurde auf seinen eigenen Seiten gelöscht. Einige Tage lang können die Betreiber dieses Dienstes es wiederherstellen.",
      after: otherwise.de,
    },
    fr: {
      subject: "Votre compte a été supprimé",
      before:
        "Votre compte a été supprimé depuis ses propres pages. Pendant quelques jours, les responsables de ce service peuvent le rétablir.",
      after: otherwise.fr,
    },
    es: {
      subject: "Se ha eliminado su cuenta",
      before:
        "Su cuenta se ha eliminado desde sus propias páginas. Durante unos días, los responsables de este servicio pueden recuperarla.",
      after: otherwise.es,
    },
  },
};

/** Introduces the login name of an account, in each language. */
export const accountLabel: Readonly<Record<Language, string>> = {
  en: "Account:",
  de: "Konto:",
  fr: "Compte\u202f:",
  es: "Cuenta:",
};

/** Introduces the name of an organization, in each language. */
export const organizationLabel: Readonly<Record<Language, string>> = {
  en: "Organization:",
  de: "Organisation:",
  fr: "Organisation\u202f:",
  es: "Organización:",
};

/** Introduces the link to a page that takes the code, in each language. */
export const linkLabel: Readonly<Record<Language, string>> = {
  en: "Or open this page:",
  de: "Oder öffnen Sie diese Seite:",
  fr: "Ou ouvrez cette page\u202f:",
  es: "O abra esta página:",
};

/** Introduces the link that leads to a new password, in each language. */
export const forgottenLabel: Readonly<Record<Language, string>> = {
  en: "If you have forgotten your password, open this page:",
  de: "Wenn Sie Ihr Passwort vergessen haben, öffnen Sie diese Seite:",
  fr: "Si vous avez oublié votre mot de passe, ouvrez cette page\u202f:",
  es: "Si ha olvidado su contraseña, abra esta página:",
};

/** Introduces the link that lets a user undo a change, in each language. */
export const wayBackLabel: Readonly<Record<Language, string>> = {
  en: "If this was not you, open this page:",
  de: "Wenn Sie das nicht waren, öffnen Sie diese Seite:",
  fr: "Si ce n’était pas vous, ouvrez cette page\u202f:",
  es: "Si no ha sido usted, abra esta página:",
};
