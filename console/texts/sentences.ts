import { sentencesOfObjects } from "./sentences_of_objects.ts";
import { sentencesOfUsers } from "./sentences_of_users.ts";
import type { Texts } from "./text.ts";

/** The sentences for events by type, with places for users and objects; those of `type:self` are for users who acted on themselves. */
export const sentences: Texts = { ...sentencesOfUsers, ...sentencesOfObjects };

/** The types of events that have a sentence. */
export const types: readonly string[] = Object.keys(sentences).filter((name) => !name.endsWith(":self"));

/** The names in a sentence for users and objects of which nothing is known. */
export const sentenceTexts = {
  somebody: ["Somebody", "Jemand", "Quelqu’un", "Alguien"],
  unknownUser: ["an unknown user", "einen unbekannten Benutzer", "une personne inconnue", "alguien desconocido"],
  something: ["something", "etwas", "quelque chose", "algo"],
} satisfies Texts;
