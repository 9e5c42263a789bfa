import type { Texts } from "./text.ts";

/** The reasons why nothing, or something other than the server, responded. */
export const connectionTexts = {
  lost: [
    "The server cannot be reached. Check your connection.",
    "Der Server ist nicht erreichbar. Bitte prüfen Sie die Verbindung.",
    "Le serveur est injoignable. Vérifiez votre connexion.",
    "No se puede conectar con el servidor. Compruebe su conexión.",
  ],
  trying: [
    "Connection lost. Trying again …",
    "Verbindung unterbrochen. Es wird erneut versucht …",
    "Connexion interrompue. Nouvelle tentative …",
    "Conexión interrumpida. Reintentando …",
  ],
  tooMany: [
    "Too many requests in a short time.",
    "Zu viele Anfragen in kurzer Zeit.",
    "Trop de requêtes en peu de temps.",
    "Demasiadas solicitudes en poco tiempo.",
  ],
  unavailable: [
    "The server is starting or overloaded.",
    "Der Server startet gerade oder ist überlastet.",
    "Le serveur démarre ou est surchargé.",
    "El servidor se está iniciando o está sobrecargado.",
  ],
  failed: [
    "The server could not answer.",
    "Der Server konnte nicht antworten.",
    "Le serveur n’a pas pu répondre.",
    "El servidor no pudo responder.",
  ],
  tryAgain: ["Try again", "Erneut versuchen", "Réessayer", "Reintentar"],
  waitSeconds: [
    "You can try again in {seconds} s.",
    "In {seconds} s können Sie es erneut versuchen.",
    "Vous pourrez réessayer dans {seconds} s.",
    "Puede reintentarlo en {seconds} s.",
  ],
  requestId: ["Request {id}", "Anfrage {id}", "Requête {id}", "Solicitud {id}"],
  upgraded: [
    "Postern was upgraded while this page was open.",
    "Postern wurde aktualisiert, während diese Seite offen war.",
    "Postern a été mis à jour pendant que cette page était ouverte.",
    "Postern se actualizó mientras esta página estaba abierta.",
  ],
  loadAnew: ["Load the new version", "Neue Version laden", "Charger la nouvelle version", "Cargar la nueva versión"],
} satisfies Texts;
