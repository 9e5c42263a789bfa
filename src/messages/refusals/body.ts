import type { Texts } from "../language.ts";

/** Texts about requests that cannot be read: they say where and why. */
export const bodyTexts = {
  BODY_NOT_JSON: {
    en: "The request body is not JSON: unexpected {found} at line {line}, column {column}.",
    de: "Der Inhalt der Anfrage ist kein JSON: {found} in Zeile {line}, Spalte {column} wird dort nicht erwartet.",
    fr: "Le corps de la requête n’est pas du JSON\u202f: {found} inattendu à la ligne {line}, colonne {column}.",
    es: "El cuerpo de la solicitud no es JSON: {found} inesperado en la línea {line}, columna {column}.",
  },
  BODY_INCOMPLETE: {
    en: "The request body is not JSON: it ends too early, at line {line}, column {column}.",
    de: "Der Inhalt der Anfrage ist kein JSON: Er endet zu früh, in Zeile {line}, Spalte {column}.",
    fr: "Le corps de la requête n’est pas du JSON\u202f: il s’arrête trop tôt, à la ligne {line}, colonne {column}.",
    es: "El cuerpo de la solicitud no es JSON: termina demasiado pronto, en la línea {line}, columna {column}.",
  },
  BODY_NOT_UTF8: {
    en: "The request body is not UTF-8 at byte {byte}.",
    de: "Der Inhalt der Anfrage ist bei Byte {byte} kein UTF-8.",
    fr: "Le corps de la requête n’est pas de l’UTF-8 à l’octet {byte}.",
    es: "El cuerpo de la solicitud no es UTF-8 en el byte {byte}.",
  },
  BODY_NOT_OBJECT: {
    en: "The request body must be a JSON object.",
    de: "Der Inhalt der Anfrage muss ein JSON-Objekt sein.",
    fr: "Le corps de la requête doit être un objet JSON.",
    es: "El cuerpo de la solicitud debe ser un objeto JSON.",
  },
  BODY_TOO_DEEP: {
    en: "The request body is nested more than {max} levels deep.",
    de: "Der Inhalt der Anfrage ist tiefer als {max} Ebenen verschachtelt.",
    fr: "Le corps de la requête est imbriqué sur plus de {max} niveaux.",
    es: "El cuerpo de la solicitud tiene más de {max} niveles de anidamiento.",
  },
  BODY_NOT_PROTOBUF: {
    en: "The request body is not a valid Protobuf message for this request, at byte {byte}.",
    de: "Der Inhalt der Anfrage ist bei Byte {byte} kein Protobuf dieser Anfrage.",
    fr: "Le corps de la requête n’est pas du Protobuf de cette requête à l’octet {byte}.",
    es: "El cuerpo de la solicitud no es Protobuf de esta solicitud en el byte {byte}.",
  },
  FIELD_NOT_PROTOBUF: {
    en: "The request body is not a valid Protobuf message for this request, at byte {byte}, in the field {field}.",
    de: "Der Inhalt der Anfrage ist bei Byte {byte}, im Feld {field}, kein Protobuf dieser Anfrage.",
    fr: "Le corps de la requête n’est pas du Protobuf de cette requête à l’octet {byte}, dans le champ {field}.",
    es: "El cuerpo de la solicitud no es Protobuf de esta solicitud en el byte {byte}, en el campo {field}.",
  },
  BODY_LENGTH: {
    en: "The request body does not have the length given in its prefix.",
    de: "Der Inhalt der Anfrage hat nicht die Länge, die sein Präfix nennt.",
    fr: "Le corps de la requête n’a pas la longueur annoncée par son préfixe.",
    es: "El cuerpo de la solicitud no tiene la longitud que indica su prefijo.",
  },
  MESSAGE_COUNT: {
    en: "This method takes exactly one message.",
    de: "Diese Methode nimmt genau eine Nachricht.",
    fr: "Cette méthode attend exactement un message.",
    es: "Este método admite exactamente un mensaje.",
  },
  BODY_NOT_COMPRESSED: {
    en: "The request body is not compressed with {encoding}, although the headers say so.",
    de: "Der Inhalt der Anfrage ist nicht mit {encoding} komprimiert, wie seine Header sagen.",
    fr: "Le corps de la requête n’est pas compressé par {encoding}, comme l’indiquent ses en-têtes.",
    es: "El cuerpo de la solicitud no está comprimido con {encoding}, como dicen sus cabeceras.",
  },
  BODY_NOT_BASE64: {
    en: "The request body is not base64.",
    de: "Der Inhalt der Anfrage ist kein Base64.",
    fr: "Le corps de la requête n’est pas du base64.",
    es: "El cuerpo de la solicitud no es base64.",
  },
  BODY_UNEXPECTED: {
    en: "This request takes no body.",
    de: "Diese Anfrage hat keinen Inhalt.",
    fr: "Cette requête n’a pas de corps.",
    es: "Esta solicitud no lleva cuerpo.",
  },
  QUERY_MALFORMED: {
    en: "The query of the request is not percent-encoded UTF-8.",
    de: "Die Query der Anfrage ist kein UTF-8 mit Prozentkodierung.",
    fr: "Les paramètres de la requête ne sont pas de l’UTF-8 avec encodage-pourcent.",
    es: "La consulta de la solicitud no es UTF-8 con codificación por porcentaje.",
  },
  HEADER_MALFORMED: {
    en: "The request header {header} cannot be read.",
    de: "Der Header {header} der Anfrage ist nicht lesbar.",
    fr: "L’en-tête {header} de la requête est illisible.",
    es: "No se puede leer la cabecera {header} de la solicitud.",
  },
} as const satisfies Record<string, Texts>;
