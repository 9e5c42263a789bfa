import type { Texts } from "../language.ts";

/** Texts of refusals of any object, and of those that have no file of their own. */
export const objectTexts = {
  SERVICE_NOT_FOUND: {
    en: "Service {id} does not exist.",
    de: "Der Dienst {id} existiert nicht.",
    fr: "Le service {id} n’existe pas.",
    es: "El servicio {id} no existe.",
  },
  JOB_NOT_FOUND: {
    en: "Job {id} does not exist.",
    de: "Der Auftrag {id} existiert nicht.",
    fr: "La tâche {id} n’existe pas.",
    es: "El trabajo {id} no existe.",
  },
  ID_TAKEN: {
    en: "Id {id} is in use or was used before.",
    de: "Die ID {id} wird verwendet oder wurde schon einmal verwendet.",
    fr: "L’identifiant {id} est utilisé ou l’a déjà été.",
    es: "El identificador {id} está en uso o ya se ha usado antes.",
  },
  BEING_DELETED: {
    en: "The previous object of this name is still being deleted; try again when that job has ended.",
    de: "Was vorher diesen Namen hatte, wird noch gelöscht; versuchen Sie es wieder, wenn der Auftrag beendet ist.",
    fr: "Ce qui portait ce nom est encore en cours de suppression\u202f; réessayez quand la tâche sera terminée.",
    es: "Lo que tenía este nombre todavía se está eliminando; inténtelo de nuevo cuando termine el trabajo.",
  },
  METADATA_LIMIT: {
    en: "Metadata can have at most {entries} entries, whose keys and values have at most {bytes} bytes together.",
    de: "Metadaten haben höchstens {entries} Einträge, deren Schlüssel und Werte zusammen höchstens {bytes} Bytes haben.",
    fr: "Les métadonnées ont au plus {entries} entrées, dont les clés et les valeurs font au plus {bytes} octets en tout.",
    es: "Los metadatos tienen como máximo {entries} entradas, cuyas claves y valores suman como máximo {bytes} bytes.",
  },
} as const satisfies Record<string, Texts>;
