import type { Texts } from "../language.ts";

/** Texts of violations of an update mask. */
export const maskTexts = {
  MASK_PATH: {
    en: 'The field "{path}" cannot be changed here.',
    de: "Ein Feld „{path}“ lässt sich hier nicht ändern.",
    fr: "Aucun champ «\u202f{path}\u202f» ne peut être modifié ici.",
    es: "Ningún campo «{path}» puede cambiarse aquí.",
  },
  MASK_NOTHING: {
    en: "Must name a field, because none is set in the request.",
    de: "Hier ist kein Feld genannt, und keines ist ausgefüllt.",
    fr: "Aucun champ n’est nommé, et aucun n’est renseigné.",
    es: "No se nombra ningún campo, y ninguno está relleno.",
  },
  MASK_FIELDS: {
    en: "Must name at most {max} fields.",
    de: "Hier dürfen höchstens {max} Felder genannt sein.",
    fr: "Ne doit pas nommer plus de {max} champs.",
    es: "No debe nombrar más de {max} campos.",
  },
} as const satisfies Record<string, Texts>;
