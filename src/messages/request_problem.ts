import type { Texts } from "./language.ts";

/**
 * What can be wrong with an application's request, each as the end of a sentence, after a colon: in German it begins with a capital. In
 * English they are also the descriptions of OAuth errors, which contain neither quotation marks nor letters beyond ASCII (RFC 6749, 5.2).
 */
export const requestProblemTexts = {
  parameter_repeated: {
    en: "{name} appears twice",
    de: "{name} kommt zweimal vor",
    fr: "{name} y figure deux fois",
    es: "{name} aparece dos veces",
  },
  parameter_long: {
    en: "{name} is longer than {count} characters",
    de: "{name} ist länger als {count} Zeichen",
    fr: "{name} dépasse {count} caractères",
    es: "{name} tiene más de {count} caracteres",
  },
  parameter_missing: { en: "{name} is missing", de: "{name} fehlt", fr: "{name} est absent", es: "falta {name}" },
  parameter_odd: {
    en: "a parameter has a name that is too long, or a NUL",
    de: "Ein Parameter hat einen zu langen Namen oder enthält ein NUL",
    fr: "un paramètre a un nom trop long, ou contient un NUL",
    es: "un parámetro tiene un nombre demasiado largo o contiene un NUL",
  },
  parameters_many: {
    en: "there are more than {count} parameters",
    de: "Es sind mehr als {count} Parameter",
    fr: "elle a plus de {count} paramètres",
    es: "tiene más de {count} parámetros",
  },
  parameters_long: {
    en: "its parameters are longer than {count} characters",
    de: "Die Parameter sind zusammen länger als {count} Zeichen",
    fr: "ses paramètres dépassent {count} caractères",
    es: "sus parámetros tienen más de {count} caracteres",
  },
  body_type: {
    en: "the body must be {type}",
    de: "Der Inhalt muss {type} sein",
    fr: "le corps doit être au format {type}",
    es: "el cuerpo debe tener el formato {type}",
  },
  oauth_error: {
    en: "it is refused with the OAuth error {error}",
    de: "Sie wird mit dem OAuth-Fehler {error} abgelehnt",
    fr: "elle est refusée avec l’erreur OAuth {error}",
    es: "se rechaza con el error de OAuth {error}",
  },
  resource_missing: {
    en: "resource must name the API that the client wants tokens for",
    de: "resource muss die API nennen, für die der Client Tokens haben will",
    fr: "resource doit nommer l’API pour laquelle le client demande des jetons",
    es: "resource debe nombrar la API para la que el cliente pide tokens",
  },
  resource_closed: {
    en: "resource names no API that accepts clients with a document of their own",
    de: "resource nennt keine API, die Clients mit einem eigenen Dokument zulässt",
    fr: "resource ne nomme aucune API qui accepte les clients ayant leur propre document",
    es: "resource no nombra ninguna API que admita clientes con un documento propio",
  },
  document_unread: {
    en: "the document of the client must be JSON of up to {kilobytes} KB, answered within {seconds} s with 200, at a public address",
    de: "Das Dokument des Clients muss JSON von höchstens {kilobytes} KB sein, das eine öffentliche Adresse innerhalb von {seconds} s mit 200 liefert",
    fr: "le document du client doit être du JSON de {kilobytes} Ko au plus, fourni en {seconds} s avec 200 à une adresse publique",
    es: "el documento del cliente debe ser JSON de hasta {kilobytes} KB, servido en {seconds} s con 200 en una dirección pública",
  },
  document_shape: {
    en: "the document of the client is no JSON object",
    de: "Das Dokument des Clients ist kein JSON-Objekt",
    fr: "le document du client n’est pas un objet JSON",
    es: "el documento del cliente no es un objeto JSON",
  },
  document_name: {
    en: "in the document of the client, client_id is not its URL",
    de: "Im Dokument des Clients ist client_id nicht dessen URL",
    fr: "dans le document du client, client_id n’est pas son URL",
    es: "en el documento del cliente, client_id no es su URL",
  },
  document_method: {
    en: "in the document of the client, token_endpoint_auth_method must be none, without a client_secret",
    de: "Im Dokument des Clients muss token_endpoint_auth_method none sein, ohne client_secret",
    fr: "dans le document du client, token_endpoint_auth_method doit être none, sans client_secret",
    es: "en el documento del cliente, token_endpoint_auth_method debe ser none, sin client_secret",
  },
  document_uris: {
    en: "in the document of the client, {name} must be a list of up to {count} URIs",
    de: "Im Dokument des Clients muss {name} eine Liste von höchstens {count} URIs sein",
    fr: "dans le document du client, {name} doit être une liste de {count} URI au plus",
    es: "en el documento del cliente, {name} debe ser una lista de hasta {count} URI",
  },
  document_switch: {
    en: "in the document of the client, {name} must be true or false",
    de: "Im Dokument des Clients muss {name} true oder false sein",
    fr: "dans le document du client, {name} doit être true ou false",
    es: "en el documento del cliente, {name} debe ser true o false",
  },
  document_demand: {
    en: "in the document of the client, {name} cannot be met",
    de: "Im Dokument des Clients steht {name}, was hier nicht erfüllt werden kann",
    fr: "dans le document du client, {name} ne peut pas être satisfait",
    es: "en el documento del cliente, {name} no se puede cumplir",
  },
  documents_of_user: {
    en: "a user allows up to {count} clients with a document in a project; /account/applications ends one",
    de: "Ein Benutzer kann in einem Projekt bis zu {count} Clients mit einem Dokument zulassen; unter /account/applications lässt sich einer beenden",
    fr: "un utilisateur peut autoriser jusqu’à {count} clients avec un document dans un projet\u202f; /account/applications permet d’en retirer un",
    es: "un usuario puede permitir hasta {count} clientes con un documento en un proyecto; en /account/applications se puede quitar uno",
  },
  documents_of_project: {
    en: "a project has up to {count} clients with a document",
    de: "Ein Projekt hat bis zu {count} Clients mit einem Dokument",
    fr: "un projet a jusqu’à {count} clients avec un document",
    es: "un proyecto tiene hasta {count} clientes con un documento",
  },
  document_project: {
    en: "the project is gone, or has an application with the name of the client",
    de: "Das Projekt gibt es nicht mehr, oder es hat eine Anwendung mit dem Namen des Clients",
    fr: "le projet n’existe plus, ou a une application du nom du client",
    es: "el proyecto ya no existe o tiene una aplicación con el nombre del cliente",
  },
} as const satisfies Record<string, Texts>;

/** What is wrong with a request, in no language yet. */
export type RequestProblem = {
  readonly key: keyof typeof requestProblemTexts;
  readonly params?: Readonly<Record<string, string>>;
};
