import type { Texts } from "./text.ts";

/** The texts of the matrix of roles and permissions. */
export const roleTexts = {
  about: [
    "What each role permits, and who holds it here.",
    "Was jede Rolle erlaubt, und wer sie hier hat.",
    "Ce que permet chaque rôle, et qui l’a ici.",
    "Lo que permite cada rol y quién lo tiene aquí.",
  ],
  scope: ["Scope", "Bereich", "Portée", "Ámbito"],
  ORGANIZATION: ["Organization", "Organisation", "Organisation", "Organización"],
  INSTANCE: ["Instance", "Instanz", "Instance", "Instancia"],
  PROJECT: ["Project", "Projekt", "Projet", "Proyecto"],
  permission: ["Permission", "Recht", "Permission", "Permiso"],
  holders: ["Held by", "Inhaber", "Titulaires", "Titulares"],
  noHolders: ["Nobody", "Niemand", "Personne", "Nadie"],
  given: ["Given", "Enthalten", "Accordée", "Incluido"],
  chooseProject: [
    "Choose a project to see who holds its roles.",
    "Wählen Sie ein Projekt, um die Inhaber seiner Rollen zu sehen.",
    "Choisissez un projet pour voir les titulaires de ses rôles.",
    "Elija un proyecto para ver los titulares de sus roles.",
  ],
  more: ["and others", "und weitere", "et d’autres", "y otros"],
} satisfies Texts;
