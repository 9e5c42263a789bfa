import type { Texts } from "../language.ts";

/** Texts of refusals of the roles of a project, and of roles where they cannot be held. */
export const roleTexts = {
  ROLE_NOT_FOUND: {
    en: "Role {id} does not exist.",
    de: "Die Rolle {id} existiert nicht.",
    fr: "Le rôle {id} n’existe pas.",
    es: "El rol {id} no existe.",
  },
  ROLE_TAKEN: {
    en: 'Role "{name}" already exists in this project.',
    de: "Die Rolle „{name}“ gibt es in diesem Projekt schon.",
    fr: "Le rôle «\u202f{name}\u202f» existe déjà dans ce projet.",
    es: "El rol «{name}» ya existe en este proyecto.",
  },
  ROLE_UNKNOWN: {
    en: "Some roles do not exist in this project or are not granted with it.",
    de: "Einige Rollen gibt es in diesem Projekt nicht, oder sie sind nicht mit freigegeben.",
    fr: "Certains rôles n’existent pas dans ce projet ou ne sont pas partagés avec lui.",
    es: "Algunos roles no existen en este proyecto o no se concedieron con él.",
  },
  ROLE_KEY_DOTS: {
    en: 'Must not be "." or "..", which clients resolve as steps in a path.',
    de: "Ein oder zwei Punkte allein sind kein Schlüssel, weil Clients sie als Schritt in einem Pfad verstehen.",
    fr: "Ne doit pas être un ou deux points seuls, que les clients prennent pour une étape d’un chemin.",
    es: "No debe ser uno o dos puntos solos, que los clientes toman por un paso de una ruta.",
  },
  ROLE_NOT_IN_GRANT: {
    en: "Role {key} is not in project grant {id}.",
    de: "Die Rolle {key} ist nicht in der Projektfreigabe {id}.",
    fr: "Le rôle {key} n’est pas dans le partage de projet {id}.",
    es: "El rol {key} no está en la concesión de proyecto {id}.",
  },
  ROLE_NOT_IN_PROJECT: {
    en: "Role {key} is not in project {id}.",
    de: "Die Rolle {key} gibt es im Projekt {id} nicht.",
    fr: "Le rôle {key} n’est pas dans le projet {id}.",
    es: "El rol {key} no está en el proyecto {id}.",
  },
  ROLE_NOT_THERE: {
    en: 'Role "{key}" does not exist in the project.',
    de: "Die Rolle „{key}“ gibt es im Projekt nicht.",
    fr: "Le rôle «\u202f{key}\u202f» n’existe pas dans le projet.",
    es: "El rol «{key}» no existe en el proyecto.",
  },
  ROLE_ON_INSTANCE: {
    en: "Role {role} is a role on the instance: set instance.",
    de: "Die Rolle {role} gilt für die Instanz: Nötig ist instance.",
    fr: "Le rôle {role} porte sur l’instance\u202f: il faut instance.",
    es: "El rol {role} es un rol de la instancia: indique instance.",
  },
  ROLE_ON_ORGANIZATION: {
    en: "Role {role} is a role on an organization: leave instance, projectId and projectGrantId unset.",
    de: "Die Rolle {role} gilt für eine Organisation: ohne instance, projectId und projectGrantId.",
    fr: "Le rôle {role} porte sur une organisation\u202f: sans instance, projectId ni projectGrantId.",
    es: "El rol {role} es un rol de una organización: sin instance, projectId ni projectGrantId.",
  },
  ROLE_ON_PROJECT: {
    en: "Role {role} is a role on a project: set projectId, but not projectGrantId.",
    de: "Die Rolle {role} gilt für ein Projekt: Nötig ist projectId ohne projectGrantId.",
    fr: "Le rôle {role} porte sur un projet\u202f: il faut projectId sans projectGrantId.",
    es: "El rol {role} es un rol de un proyecto: indique projectId sin projectGrantId.",
  },
  ROLE_ON_PROJECT_GRANT: {
    en: "Role {role} is a role on a project grant: set projectGrantId.",
    de: "Die Rolle {role} gilt für eine Projektfreigabe: Nötig ist projectGrantId.",
    fr: "Le rôle {role} porte sur un partage de projet\u202f: il faut projectGrantId.",
    es: "El rol {role} es un rol de una concesión de proyecto: indique projectGrantId.",
  },
} as const satisfies Record<string, Texts>;
