import type { Texts } from "./language.ts";

/** The texts of the pages on which users choose an account, and give an application consent. */
export const choiceTexts = {
  choose_account: {
    en: "Choose an account",
    de: "Konto auswählen",
    fr: "Choisissez un compte",
    es: "Elija una cuenta",
  },
  consent_title: {
    en: "Allow {application} access?",
    de: "{application} den Zugriff erlauben?",
    fr: "Autoriser {application} à accéder à votre compte\u202f?",
    es: "¿Permitir que {application} acceda a su cuenta?",
  },
  consent_text: {
    en: "The application {application} of {organization} wants to:",
    de: "Die Anwendung {application} von {organization} möchte:",
    fr: "L’application {application} de {organization} demande à\u202f:",
    es: "La aplicación {application} de {organization} solicita permiso para:",
  },
  document_consent_text: {
    en: "{application} is not known to {organization}; only its host is certain. It wants to:",
    de: "{application} ist {organization} nicht bekannt; sicher ist nur dieser Host. Die Anwendung möchte:",
    fr: "{application} n’est pas connue de {organization}\u202f; seul cet hôte est certain. L’application demande à\u202f:",
    es: "{organization} no conoce a {application}; solo este host es seguro. La aplicación solicita permiso para:",
  },
  document_loopback: {
    en: "A program on this device receives the access, and any program can use this name. Continue only if you have just started signing in there yourself.",
    de: "Ein Programm auf diesem Gerät erhält den Zugriff, und jedes Programm kann diesen Namen verwenden. Fahren Sie nur fort, wenn Sie die Anmeldung gerade selbst dort begonnen haben.",
    fr: "Un programme de cet appareil reçoit l’accès, et tout programme peut utiliser ce nom. Ne continuez que si vous venez d’y commencer vous-même la connexion.",
    es: "Un programa de este dispositivo recibe el acceso, y cualquier programa puede usar este nombre. Continúe solo si usted mismo acaba de iniciar sesión allí.",
  },
  consent_end: {
    en: "You can end this at any time on your account page.",
    de: "Sie können das jederzeit auf der Seite Ihres Kontos beenden.",
    fr: "Vous pouvez y mettre fin à tout moment sur la page de votre compte.",
    es: "Puede ponerle fin en cualquier momento en la página de su cuenta.",
  },
  allow: { en: "Allow", de: "Erlauben", fr: "Autoriser", es: "Permitir" },
  deny: { en: "Deny", de: "Ablehnen", fr: "Refuser", es: "Denegar" },
  scope_openid: {
    en: "know who you are and which organization you belong to",
    de: "wissen, wer Sie sind und zu welcher Organisation Sie gehören",
    fr: "savoir qui vous êtes et à quelle organisation vous appartenez",
    es: "saber quién es usted y a qué organización pertenece",
  },
  scope_profile: {
    en: "see your name and your username",
    de: "Ihren Namen und Benutzernamen sehen",
    fr: "voir votre nom et votre nom d’utilisateur",
    es: "ver su nombre y su nombre de usuario",
  },
  scope_email: {
    en: "see your email address",
    de: "Ihre E-Mail-Adresse sehen",
    fr: "voir votre adresse e-mail",
    es: "ver su dirección de correo electrónico",
  },
  scope_phone: {
    en: "see your phone number",
    de: "Ihre Telefonnummer sehen",
    fr: "voir votre numéro de téléphone",
    es: "ver su número de teléfono",
  },
  scope_address: {
    en: "see your postal address",
    de: "Ihre Postanschrift sehen",
    fr: "voir votre adresse postale",
    es: "ver su dirección postal",
  },
  scope_roles: {
    en: "see your roles in its project",
    de: "Ihre Rollen im Projekt der Anwendung sehen",
    fr: "voir vos rôles dans le projet de l’application",
    es: "ver los roles que usted tiene en el proyecto de la aplicación",
  },
  scope_metadata: {
    en: "see what your organization shares with it about you or about itself",
    de: "sehen, was Ihre Organisation ihr über Sie oder sich selbst mitteilt",
    fr: "voir ce que votre organisation lui communique à votre sujet ou sur elle-même",
    es: "ver lo que su organización comparte con ella sobre usted o sobre sí misma",
  },
  scope_all_roles: {
    en: "see your roles in its project in every organization",
    de: "Ihre Rollen im Projekt der Anwendung in allen Organisationen sehen",
    fr: "voir vos rôles dans le projet de l’application au sein de toutes les organisations",
    es: "ver los roles que usted tiene en el proyecto de la aplicación en todas las organizaciones",
  },
  scope_resource: {
    en: "use {application} ({uri}) on your behalf",
    de: "{application} ({uri}) in Ihrem Namen verwenden",
    fr: "utiliser {application} ({uri}) en votre nom",
    es: "usar {application} ({uri}) en su nombre",
  },
  scope_offline: {
    en: "stay connected while you are away",
    de: "verbunden bleiben, während Sie abwesend sind",
    fr: "rester connectée en votre absence",
    es: "seguir conectada mientras usted no está",
  },
  scope_organization: {
    en: "sign you in to the organization {organization}",
    de: "Sie für die Organisation {organization} anmelden",
    fr: "vous connecter pour l’organisation {organization}",
    es: "iniciar sesión en su nombre para la organización {organization}",
  },
} as const satisfies Record<string, Texts>;
