import type { Texts } from "./text.ts";

/** The texts of the page of events. */
export const eventTexts = {
  about: [
    "Everything that happened, the latest first.",
    "Alles, was geschehen ist, das Neueste zuerst.",
    "Tout ce qui s’est passé, le plus récent d’abord.",
    "Todo lo que ocurrió, lo más reciente primero.",
  ],
  live: ["Live", "Live", "En direct", "En directo"],
  connecting: ["Connecting …", "Wird verbunden …", "Connexion …", "Conectando …"],
  paused: ["Paused", "Angehalten", "En pause", "En pausa"],
  pause: ["Pause", "Anhalten", "Mettre en pause", "Pausar"],
  resume: ["Resume", "Fortsetzen", "Reprendre", "Reanudar"],
  newEvents: ["{count} new", "{count} neue", "{count} nouveaux", "{count} nuevos"],
  type: ["Type: user.locked", "Typ: user.locked", "Type : user.locked", "Tipo: user.locked"],
  by: ["Caused by", "Ausgelöst von", "Causé par", "Causado por"],
  aboutUser: ["About a user", "Über einen Benutzer", "Sur un utilisateur", "Sobre un usuario"],
  object: ["Id of an object", "Id eines Objekts", "Id d’un objet", "Id de un objeto"],
} satisfies Texts;
