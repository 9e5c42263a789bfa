import type { Texts } from "./language.ts";

/** Why a call is refused before anything of its content matters, or fails for reasons of ours. */
export const callTexts = {
  UNAUTHENTICATED: {
    en: "This call needs a bearer token in the authorization header.",
    de: "Dieser Aufruf braucht ein Bearer-Token im Authorization-Header.",
    fr: "Cet appel exige un jeton Bearer dans l'en-tête Authorization.",
    es: "Esta llamada requiere un token Bearer en la cabecera Authorization.",
  },
  TOKEN_INVALID: {
    en: "The token is unknown, expired or revoked.",
    de: "Das Token ist unbekannt, abgelaufen oder widerrufen.",
    fr: "Le jeton est inconnu, expiré ou révoqué.",
    es: "El token es desconocido, ha caducado o ha sido revocado.",
  },
  PERMISSION_DENIED: {
    en: "You do not have permission to do this.",
    de: "Dazu fehlt Ihnen die Berechtigung.",
    fr: "Vous n'avez pas l'autorisation de faire cela.",
    es: "No tiene permiso para hacer esto.",
  },
  VALIDATION_FAILED: {
    en: "The request is not valid: {fields}.",
    de: "Die Anfrage ist ungültig: {fields}.",
    fr: "La requête n'est pas valide\u00a0: {fields}.",
    es: "La solicitud no es válida: {fields}.",
  },
  MALFORMED_BODY: {
    en: "The request body cannot be read.",
    de: "Der Inhalt der Anfrage ist nicht lesbar.",
    fr: "Le corps de la requête est illisible.",
    es: "No se puede leer el cuerpo de la solicitud.",
  },
  PAGE_TOKEN_INVALID: {
    en: "The page token does not belong to this list.",
    de: "Das Seiten-Token gehört nicht zu dieser Liste.",
    fr: "Le jeton de page n'appartient pas à cette liste.",
    es: "El token de página no pertenece a esta lista.",
  },
  POSITION_INVALID: {
    en: "The position is not one that this server gave out.",
    de: "Die Position stammt nicht von diesem Server.",
    fr: "Cette position n'a pas été émise par ce serveur.",
    es: "La posición no procede de este servidor.",
  },
  IDEMPOTENCY_KEY_REUSED: {
    en: "The idempotency key was already used for another request.",
    de: "Der Idempotenzschlüssel wurde schon für eine andere Anfrage verwendet.",
    fr: "La clé d'idempotence a déjà servi pour une autre requête.",
    es: "La clave de idempotencia ya se usó para otra solicitud.",
  },
  CONFLICT: {
    en: "Others kept changing the same object; please try again.",
    de: "Das Objekt wurde gleichzeitig von anderen geändert; bitte versuchen Sie es erneut.",
    fr: "D'autres modifient le même objet en ce moment, veuillez réessayer.",
    es: "Otros están modificando el mismo objeto; vuelva a intentarlo.",
  },
  UNKNOWN_PATH: {
    en: "There is nothing at this path.",
    de: "Unter diesem Pfad gibt es nichts.",
    fr: "Il n'y a rien à ce chemin.",
    es: "No hay nada en esta ruta.",
  },
  METHOD_NOT_ALLOWED: {
    en: "This path exists, but not for this HTTP method.",
    de: "Diesen Pfad gibt es, aber nicht für diese HTTP-Methode.",
    fr: "Ce chemin existe, mais pas pour cette méthode HTTP.",
    es: "Esta ruta existe, pero no para este método HTTP.",
  },
  UNIMPLEMENTED: {
    en: "This server does not offer this operation.",
    de: "Dieser Server bietet diese Operation nicht an.",
    fr: "Ce serveur ne propose pas cette opération.",
    es: "Este servidor no ofrece esta operación.",
  },
  UNSUPPORTED_CONTENT_TYPE: {
    en: "The content type of the request is not supported here.",
    de: "Der Inhaltstyp der Anfrage wird hier nicht unterstützt.",
    fr: "Le type de contenu de la requête n'est pas pris en charge ici.",
    es: "El tipo de contenido de la solicitud no se admite aquí.",
  },
  UNSUPPORTED_ENCODING: {
    en: "The compression of the request is not supported.",
    de: "Die Komprimierung der Anfrage wird nicht unterstützt.",
    fr: "La compression de la requête n'est pas prise en charge.",
    es: "La compresión de la solicitud no se admite.",
  },
  MALFORMED_REQUEST: {
    en: "The request does not follow the rules of HTTP.",
    de: "Die Anfrage hält sich nicht an die Regeln von HTTP.",
    fr: "La requête ne respecte pas les règles de HTTP.",
    es: "La solicitud no cumple las reglas de HTTP.",
  },
  HTTP_VERSION_TOO_OLD: {
    en: "Only HTTP/2 carries gRPC.",
    de: "Für gRPC ist HTTP/2 nötig.",
    fr: "Seul HTTP/2 transporte gRPC.",
    es: "Solo HTTP/2 transporta gRPC.",
  },
  HEADERS_TOO_LARGE: {
    en: "The headers of the request are larger than this server accepts.",
    de: "Die Header der Anfrage sind größer, als dieser Server annimmt.",
    fr: "Les en-têtes de la requête dépassent la taille acceptée par ce serveur.",
    es: "Las cabeceras de la solicitud superan el tamaño que acepta este servidor.",
  },
  BODY_TOO_LARGE: {
    en: "The request is larger than this server accepts.",
    de: "Die Anfrage ist größer, als dieser Server annimmt.",
    fr: "La requête dépasse la taille acceptée par ce serveur.",
    es: "La solicitud supera el tamaño que acepta este servidor.",
  },
  OVERLOADED: {
    en: "The server is too busy at the moment; please try again shortly.",
    de: "Der Server ist gerade ausgelastet; bitte versuchen Sie es gleich noch einmal.",
    fr: "Le serveur est surchargé, veuillez réessayer dans un instant.",
    es: "El servidor está saturado; vuelva a intentarlo dentro de un momento.",
  },
  UNAVAILABLE: {
    en: "The service is not available at the moment; please try again shortly.",
    de: "Der Dienst ist gerade nicht verfügbar; bitte versuchen Sie es gleich noch einmal.",
    fr: "Le service est momentanément indisponible, veuillez réessayer dans un instant.",
    es: "El servicio no está disponible en este momento; vuelva a intentarlo en breve.",
  },
  OUTCOME_UNKNOWN: {
    en: "The connection was lost while writing, so the change may or may not have been made.",
    de: "Die Verbindung brach beim Schreiben ab; ob die Änderung erfolgt ist, steht nicht fest.",
    fr: "La connexion a été perdue pendant l'écriture, la modification a donc pu être faite ou non.",
    es: "Se perdió la conexión durante la escritura, por lo que el cambio puede haberse hecho o no.",
  },
  DEADLINE_EXCEEDED: {
    en: "The deadline passed before the call was finished.",
    de: "Die Frist lief ab, bevor der Aufruf fertig war.",
    fr: "Le délai a expiré avant la fin de l'appel.",
    es: "El plazo venció antes de que terminara la llamada.",
  },
  CANCELLED: {
    en: "The caller cancelled the call.",
    de: "Der Aufruf wurde vom Aufrufer abgebrochen.",
    fr: "L'appel a été annulé par l'appelant.",
    es: "La llamada fue cancelada por quien la hizo.",
  },
  INTERNAL: {
    en: "Something went wrong on our side; the request id leads us to the cause.",
    de: "Bei uns ist ein Fehler aufgetreten; die Anfrage-ID führt uns zur Ursache.",
    fr: "Une erreur s'est produite de notre côté, l'identifiant de la requête permet d'en retrouver la cause.",
    es: "Se ha producido un error por nuestra parte; el identificador de la solicitud nos lleva a la causa.",
  },
} as const satisfies Record<string, Texts>;
