import type { Texts } from "../language.ts";

/** Texts of refusals of an organization. */
export const organizationTexts = {
  ORGANIZATION_NOT_FOUND: {
    en: "Organization {id} does not exist.",
    de: "Die Organisation {id} existiert nicht.",
    fr: "L’organisation {id} n’existe pas.",
    es: "La organización {id} no existe.",
  },
  ORGANIZATION_NAME_TAKEN: {
    en: 'Organization name "{name}" is taken.',
    de: "Der Organisationsname „{name}“ ist schon vergeben.",
    fr: "Le nom d’organisation «\u202f{name}\u202f» est déjà pris.",
    es: "El nombre de organización «{name}» ya está en uso.",
  },
  ORGANIZATION_INACTIVE: {
    en: "Organization {id} is deactivated.",
    de: "Die Organisation {id} ist deaktiviert.",
    fr: "L’organisation {id} est désactivée.",
    es: "La organización {id} está desactivada.",
  },
  ORGANIZATION_ID: {
    en: "Must be the id of an organization.",
    de: "Hier muss die ID einer Organisation stehen.",
    fr: "Doit être l’identifiant d’une organisation.",
    es: "Debe ser el identificador de una organización.",
  },
  OWN_ORGANIZATION: {
    en: "Is the user's own organization; use RemoveMember and RemoveUserGrant to end its roles.",
    de: "Das ist die eigene Organisation des Benutzers; ihre Rollen beenden RemoveMember und RemoveUserGrant.",
    fr: "C’est la propre organisation de l’utilisateur\u202f; RemoveMember et RemoveUserGrant mettent fin à ses rôles.",
    es: "Es la propia organización del usuario; RemoveMember y RemoveUserGrant ponen fin a sus roles.",
  },
  OWN_LOGIN_NAMES_IN_USE: {
    en: "Some users of the organization have login names that are its own and not in the directory of the instance.",
    de: "Einige Benutzer der Organisation haben Anmeldenamen, die nur in ihr gelten und nicht im Verzeichnis der Instanz stehen.",
    fr: "Certains utilisateurs de l’organisation ont des noms de connexion qui lui sont propres et ne figurent pas dans l’annuaire de l’instance.",
    es: "Algunos usuarios de la organización tienen nombres de inicio de sesión propios de ella que no están en el directorio de la instancia.",
  },
} as const satisfies Record<string, Texts>;
