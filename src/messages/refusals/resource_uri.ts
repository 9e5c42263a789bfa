import type { Texts } from "../language.ts";

/** Texts of refusals of an API's resource URI. */
export const resourceUriTexts = {
  RESOURCE_URI_INVALID: {
    en: "Must be an absolute https URI in normal form, or one with http on the loopback interface, without user information or fragment.",
    de: "Das muss eine absolute https-URI in Normalform sein, oder eine mit http auf der Loopback-Schnittstelle, ohne Benutzerangaben und Fragment.",
    fr: "Doit être une URI https absolue en forme normale, ou http sur l’interface de bouclage, sans informations d’utilisateur ni fragment.",
    es: "Debe ser una URI https absoluta en forma normal, o http en la interfaz de bucle local, sin información de usuario ni fragmento.",
  },
  RESOURCE_URI_HOST: {
    en: "Must have a host that belongs to a proven domain of the organization; only an INSTANCE_OWNER can give it another one.",
    de: "Der Host muss zu einer nachgewiesenen Domain der Organisation gehören; nur ein INSTANCE_OWNER kann ihr einen anderen geben.",
    fr: "Doit avoir un hôte d’un domaine prouvé de l’organisation\u202f; seul un INSTANCE_OWNER peut lui en donner un autre.",
    es: "Debe tener un host de un dominio demostrado de la organización; solo un INSTANCE_OWNER puede darle otro.",
  },
  RESOURCE_URI_UNKNOWN: {
    en: "Must be a resource URI of an API application of the organization.",
    de: "Muss die Ressourcen-URI einer API-Anwendung der Organisation sein.",
    fr: "Doit être l’URI de ressource d’une application API de l’organisation.",
    es: "Debe ser la URI de recurso de una aplicación API de la organización.",
  },
  RESOURCE_URI_ISSUER: {
    en: "Must not have the origin of this server.",
    de: "Das darf nicht der Origin dieses Servers sein.",
    fr: "Ne doit pas avoir l’origine de ce serveur.",
    es: "No debe tener el origen de este servidor.",
  },
  RESOURCE_URI_TAKEN: {
    en: "Is already in use.",
    de: "Das ist schon vergeben.",
    fr: "Est déjà utilisée.",
    es: "Ya está en uso.",
  },
} as const satisfies Record<string, Texts>;
