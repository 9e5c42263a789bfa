import type { Texts } from "../language.ts";

/** Texts of refusals of the credentials of a machine. */
export const machineTexts = {
  MACHINE_CREDENTIAL_NOT_FOUND: {
    en: "Machine credential {id} does not exist.",
    de: "Die Zugangsdaten {id} der Maschine existieren nicht.",
    fr: "L’identifiant {id} de la machine n’existe pas.",
    es: "La credencial {id} de la máquina no existe.",
  },
  MACHINE_KEY_EXISTS: {
    en: 'The machine already has a key with the kid "{name}".',
    de: "Die Maschine hat schon einen Schlüssel mit der kid „{name}“.",
    fr: "La machine a déjà une clé avec le kid «\u202f{name}\u202f».",
    es: "La máquina ya tiene una clave con el kid «{name}».",
  },
  MACHINE_KEY_LIMIT: {
    en: "A machine can have at most {limit} keys; remove one first.",
    de: "Eine Maschine hat höchstens {limit} Schlüssel; entfernen Sie zuerst einen.",
    fr: "Une machine a au plus {limit} clés\u202f; retirez-en d’abord une.",
    es: "Una máquina tiene como máximo {limit} claves; quite antes una.",
  },
  OWN_MACHINE_CREDENTIAL: {
    en: "A machine cannot create client secrets or keys for itself.",
    de: "Eine Maschine kann für sich selbst keine Client-Secrets oder Schlüssel anlegen.",
    fr: "Une machine ne peut pas créer de secrets client ni de clés pour elle-même.",
    es: "Una máquina no puede crear secretos de cliente ni claves para sí misma.",
  },
  OWN_MACHINE_DELEGATION: {
    en: "A machine cannot choose for itself on whose behalf it acts.",
    de: "Eine Maschine kann nicht selbst festlegen, in wessen Namen sie handelt.",
    fr: "Une machine ne peut pas choisir elle-même au nom de qui elle agit.",
    es: "Una máquina no puede elegir por sí misma en nombre de quién actúa.",
  },
} as const satisfies Record<string, Texts>;
