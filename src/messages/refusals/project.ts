import type { Texts } from "../language.ts";

/** Texts of refusals of a project. */
export const projectTexts = {
  PROJECT_NOT_FOUND: {
    en: "Project {id} does not exist.",
    de: "Das Projekt {id} existiert nicht.",
    fr: "Le projet {id} n’existe pas.",
    es: "El proyecto {id} no existe.",
  },
  PROJECT_NAME_TAKEN: {
    en: 'Project name "{name}" is taken.',
    de: "Der Projektname „{name}“ ist schon vergeben.",
    fr: "Le nom de projet «\u202f{name}\u202f» est déjà pris.",
    es: "El nombre de proyecto «{name}» ya está en uso.",
  },
  PROJECT_INACTIVE: {
    en: "Project {id} is deactivated.",
    de: "Das Projekt {id} ist deaktiviert.",
    fr: "Le projet {id} est désactivé.",
    es: "El proyecto {id} está desactivado.",
  },
  PROJECT_DEACTIVATED: {
    en: "Project {id} is deactivated.",
    de: "Das Projekt {id} ist zurzeit deaktiviert.",
    fr: "Le projet {id} est pour l’instant désactivé.",
    es: "El proyecto {id} está desactivado por ahora.",
  },
  PROJECT_NEEDED: {
    en: "Is required with {other}, because each project has its own roles.",
    de: "Mit {other} ist das nötig: Jedes Projekt hat eigene Rollen.",
    fr: "Est obligatoire avec {other}\u202f: chaque projet a ses propres rôles.",
    es: "Es obligatorio con {other}: cada proyecto tiene sus propios roles.",
  },
  PROJECT_ONLY_GRANTED: {
    en: "Project {id} does not belong to organization {organization}; it is only granted to it.",
    de: "Das Projekt {id} gehört der Organisation {organization} nicht, ist aber für sie freigegeben.",
    fr: "Le projet {id} n’appartient pas à l’organisation {organization}, mais il est partagé avec elle.",
    es: "El proyecto {id} no pertenece a la organización {organization}, sino que se le ha concedido.",
  },
} as const satisfies Record<string, Texts>;
