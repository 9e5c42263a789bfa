import type { Texts } from "../language.ts";

/** Texts of refusals of a position in the log, and of a type of events. */
export const eventTexts = {
  EVENT_TYPE_UNKNOWN: {
    en: 'There is no event type "{type}".',
    de: "Eine Art von Ereignis „{type}“ gibt es nicht.",
    fr: "Il n’y a pas de type d’événement «\u202f{type}\u202f».",
    es: "No existe el tipo de evento «{type}».",
  },
  POSITION_INVALID: {
    en: "The position was not issued by this server.",
    de: "Die Position stammt nicht von diesem Server.",
    fr: "Cette position n’a pas été émise par ce serveur.",
    es: "La posición no procede de este servidor.",
  },
  POSITION_LOST: {
    en: "The log lost events in a restore or a failover: continue after the newest of these positions that you have seen, or from the beginning, 0.",
    de: "Das Protokoll hat bei einer Wiederherstellung oder einem Failover Ereignisse verloren: Setzen Sie nach der neuesten dieser Positionen fort, die Sie gesehen haben, oder beginnen Sie am Anfang, 0.",
    fr: "Le journal a perdu des événements lors d’une restauration ou d’un basculement\u202f: reprenez après la plus récente de ces positions que vous avez vue, ou au début, 0.",
    es: "El registro perdió eventos en una restauración o una conmutación: continúe tras la más reciente de estas posiciones que haya visto, o desde el principio, 0.",
  },
  POSITION_FOREIGN: {
    en: "Is not the position of an event.",
    de: "Das ist keine Position eines Ereignisses.",
    fr: "Ce n’est pas la position d’un événement.",
    es: "No es la posición de un evento.",
  },
} as const satisfies Record<string, Texts>;
