import { sentencesOfObjects } from "./sentences_of_objects.ts";
import { sentencesOfUsers } from "./sentences_of_users.ts";
import type { Texts } from "./text.ts";

/** What events say, by their type, with places for who and what; those of `type:self` are for whoever did it to themselves. */
export const sentences: Texts = { ...sentencesOfUsers, ...sentencesOfObjects };

/** The types of events that there is a sentence for. */
export const types: readonly string[] = Object.keys(sentences).filter((name) => !name.endsWith(":self"));

/** Whom and what a sentence speaks of if nothing is known of them. */
export const sentenceTexts = {
  somebody: ["Somebody", "Jemand", "Quelqu’un", "Alguien"],
  unknownUser: ["an unknown user", "einen unbekannten Benutzer", "une personne inconnue", "alguien desconocido"],
  something: ["something", "etwas", "quelque chose", "algo"],
} satisfies Texts;
