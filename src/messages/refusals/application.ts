import type { Texts } from "../language.ts";

/** Texts of refusals of an application, its keys, its secret and its flow. */
export const applicationTexts = {
  APPLICATION_NOT_FOUND: {
    en: "Application {id} does not exist.",
    de: "Die Anwendung {id} existiert nicht.",
    fr: "L’application {id} n’existe pas.",
    es: "La aplicación {id} no existe.",
  },
  APPLICATION_NAME_TAKEN: {
    en: 'Application name "{name}" is taken in this project.',
    de: "Der Anwendungsname „{name}“ ist in diesem Projekt schon vergeben.",
    fr: "Le nom d’application «\u202f{name}\u202f» est déjà pris dans ce projet.",
    es: "El nombre de aplicación «{name}» ya está en uso en este proyecto.",
  },
  APPLICATION_NOT_OIDC: {
    en: "The application is an API application, but this is only for OIDC applications.",
    de: "Die Anwendung ist eine API-Anwendung, und das gibt es nur für OIDC-Anwendungen.",
    fr: "L’application est une application API, et ceci ne concerne que les applications OIDC.",
    es: "La aplicación es una aplicación API, y esto es solo para aplicaciones OIDC.",
  },
  APPLICATION_NOT_API: {
    en: "The application is an OIDC application, but this is only for API applications.",
    de: "Die Anwendung ist eine OIDC-Anwendung, und das gibt es nur für API-Anwendungen.",
    fr: "L’application est une application OIDC, et ceci ne concerne que les applications API.",
    es: "La aplicación es una aplicación OIDC, y esto es solo para aplicaciones API.",
  },
  APPLICATION_KEY_NOT_FOUND: {
    en: "Application key {id} does not exist.",
    de: "Der Anwendungsschlüssel {id} existiert nicht.",
    fr: "La clé d’application {id} n’existe pas.",
    es: "La clave de aplicación {id} no existe.",
  },
  APPLICATION_KEY_EXISTS: {
    en: 'The application already has a key with the kid "{name}".',
    de: "Die Anwendung hat schon einen Schlüssel mit der kid „{name}“.",
    fr: "L’application a déjà une clé avec le kid «\u202f{name}\u202f».",
    es: "La aplicación ya tiene una clave con el kid «{name}».",
  },
  APPLICATION_KEYS_MIXED: {
    en: "An application has either public keys or a JWKS URI; remove its keys first.",
    de: "Eine Anwendung hat entweder öffentliche Schlüssel oder eine JWKS-URI; entfernen Sie zuerst ihre Schlüssel.",
    fr: "Une application a soit des clés publiques, soit une URI JWKS\u202f; retirez d’abord ses clés.",
    es: "Una aplicación tiene claves públicas o una URI JWKS; quite antes sus claves.",
  },
  APPLICATION_KEY_LIMIT: {
    en: "An application can have at most {limit} keys.",
    de: "Eine Anwendung hat höchstens {limit} Schlüssel.",
    fr: "Une application a au plus {limit} clés.",
    es: "Una aplicación tiene como máximo {limit} claves.",
  },
  CLIENT_SECRET_MISSING: {
    en: "This application signs in without a client secret.",
    de: "Diese Anwendung meldet sich ohne Client-Secret an.",
    fr: "Cette application s’authentifie sans secret client.",
    es: "Esta aplicación se autentica sin secreto de cliente.",
  },
  SECRET_NOT_KEPT: {
    en: "Is allowed only for applications that authenticate with BASIC or POST.",
    de: "Das ist nur für Anwendungen, die sich mit BASIC oder POST anmelden.",
    fr: "N’est que pour les applications qui s’authentifient par BASIC ou POST.",
    es: "Solo es para aplicaciones que se autentican con BASIC o POST.",
  },
  FLOW_NEEDS_GRANT: {
    en: "Requires the grant type {grant}.",
    de: "Nötig ist der Grant-Typ {grant}.",
    fr: "Il faut le type d’autorisation {grant}.",
    es: "Hace falta el tipo de concesión {grant}.",
  },
  FLOW_NEEDS_TOKEN: {
    en: "Requires the response type ID_TOKEN or ID_TOKEN_TOKEN.",
    de: "Nötig ist der Response-Typ ID_TOKEN oder ID_TOKEN_TOKEN.",
    fr: "Il faut le type de réponse ID_TOKEN ou ID_TOKEN_TOKEN.",
    es: "Hace falta el tipo de respuesta ID_TOKEN o ID_TOKEN_TOKEN.",
  },
  CLAIM_RESERVED: {
    en: "Is the name of a registered claim, or of one of Postern's own.",
    de: "So heißt ein registrierter Claim oder einer von Postern selbst.",
    fr: "C’est le nom d’un claim enregistré, ou d’un claim de Postern.",
    es: "Es el nombre de un claim registrado o de uno propio de Postern.",
  },
  SCOPE_RESERVED: {
    en: "Is the name of one of Postern's own scopes or permissions.",
    de: "So heißt ein Scope oder eine Berechtigung von Postern selbst.",
    fr: "C’est le nom d’un scope ou d’une permission de Postern.",
    es: "Es el nombre de un scope o permiso propio de Postern.",
  },
  CLAIM_SOURCE: {
    en: "Must say where the value comes from: userMetadata, organizationMetadata, roles or role.",
    de: "Es fehlt, woher der Wert kommt: userMetadata, organizationMetadata, roles oder role.",
    fr: "Doit indiquer d’où vient la valeur\u202f: userMetadata, organizationMetadata, roles ou role.",
    es: "Debe indicar de dónde viene el valor: userMetadata, organizationMetadata, roles o role.",
  },
  CONNECTION_NOT_FOUND: {
    en: "The user is not connected to application {id}.",
    de: "Der Benutzer ist nicht mit der Anwendung {id} verbunden.",
    fr: "L’utilisateur n’est pas connecté à l’application {id}.",
    es: "El usuario no está conectado a la aplicación {id}.",
  },
} as const satisfies Record<string, Texts>;
