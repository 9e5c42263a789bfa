import type { Texts } from "./language.ts";

/** The texts of the pages on which people create an account of their own. */
export const registrationPageTexts = {
  register: {
    en: "Create an account",
    de: "Konto anlegen",
    fr: "Créer un compte",
    es: "Crear una cuenta",
  },
  register_text: {
    en: "Enter your email address. We will send you an email with a link to continue.",
    de: "Geben Sie Ihre E-Mail-Adresse ein. Sie erhalten eine E-Mail mit einem Link, um fortzufahren.",
    fr: "Saisissez votre adresse e-mail. Un message avec un lien pour continuer vous sera envoyé.",
    es: "Introduzca su correo electrónico. Recibirá un mensaje con un enlace para continuar.",
  },
  register_where: {
    en: "To create an account, open the application and begin there.",
    de: "Um ein Konto anzulegen, öffnen Sie die Anwendung und beginnen Sie dort.",
    fr: "Pour créer un compte, ouvrez l’application et commencez là.",
    es: "Para crear una cuenta, abra la aplicación y empiece allí.",
  },
  email_address: {
    en: "Email address",
    de: "E-Mail-Adresse",
    fr: "Adresse e-mail",
    es: "Correo electrónico",
  },
  email_wrong: {
    en: "Enter a valid email address.",
    de: "Geben Sie eine gültige E-Mail-Adresse ein.",
    fr: "Saisissez une adresse e-mail valide.",
    es: "Introduzca un correo electrónico válido.",
  },
  register_sent: {
    en: "We have sent an email to the address. Open its link in this browser to continue. The link is valid for one hour.",
    de: "Eine E-Mail an die Adresse ist unterwegs. Öffnen Sie ihren Link in diesem Browser, um fortzufahren. Der Link gilt eine Stunde.",
    fr: "Un message a été envoyé à l’adresse. Ouvrez son lien dans ce navigateur pour continuer. Le lien est valable une heure.",
    es: "Se ha enviado un mensaje a la dirección. Abra su enlace en este navegador para continuar. El enlace es válido durante una hora.",
  },
  register_sent_none: {
    en: "If no email arrives, check the address and your spam folder. Only a few emails per hour go to an address.",
    de: "Kommt keine E-Mail an, prüfen Sie die Adresse und den Spam-Ordner. An eine Adresse gehen nur wenige E-Mails pro Stunde.",
    fr: "Si aucun message n’arrive, vérifiez l’adresse et le dossier des indésirables. Une adresse ne reçoit que quelques messages par heure.",
    es: "Si no llega ningún mensaje, compruebe la dirección y la carpeta de correo no deseado. Una dirección solo recibe unos pocos mensajes por hora.",
  },
  register_in: {
    en: "Your account in {organization} will have the address {email}.",
    de: "Ihr Konto bei {organization} erhält die Adresse {email}.",
    fr: "Votre compte dans {organization} aura l’adresse {email}.",
    es: "Su cuenta en {organization} tendrá la dirección {email}.",
  },
  register_create: {
    en: "Create the account",
    de: "Konto anlegen",
    fr: "Créer le compte",
    es: "Crear la cuenta",
  },
  registered_text: {
    en: "Go back to the application and sign in.",
    de: "Gehen Sie zur Anwendung zurück und melden Sie sich an.",
    fr: "Revenez à l’application et connectez-vous.",
    es: "Vuelva a la aplicación e inicie sesión.",
  },
  register_over: {
    en: "The code is not valid: it is wrong, was already used or has expired. Go back to the application and begin again.",
    de: "Der Code ist nicht gültig: Er ist falsch, wurde schon verwendet oder ist abgelaufen. Gehen Sie zur Anwendung zurück und beginnen Sie neu.",
    fr: "Le code n’est pas valable\u202f: il est faux, a déjà servi ou a expiré. Revenez à l’application et recommencez.",
    es: "El código no es válido: es incorrecto, ya se usó o ha caducado. Vuelva a la aplicación y empiece de nuevo.",
  },
} as const satisfies Record<string, Texts>;
