import type { Texts } from "./text.ts";

/** The texts of organizations. */
export const organizationTexts = {
  name: ["Name", "Name", "Nom", "Nombre"],
  state: ["State", "Status", "État", "Estado"],
  created: ["Created", "Angelegt", "Création", "Creada"],
  create: ["Create organization", "Organisation anlegen", "Créer une organisation", "Crear organización"],
  createdNow: ["Organization created", "Organisation angelegt", "Organisation créée", "Organización creada"],
  noMatch: [
    "No organization matches.",
    "Keine Organisation passt dazu.",
    "Aucune organisation ne correspond.",
    "Ninguna organización coincide.",
  ],
  owner: ["Owner", "Eigentümer", "Propriétaire", "Propietario"],
  ownerAbout: [
    "Becomes its first administrator",
    "Wird ihr erster Administrator",
    "En devient le premier administrateur",
    "Será su primer administrador",
  ],
  ownLoginNames: [
    "Login names of its own",
    "Eigene Anmeldenamen",
    "Identifiants propres",
    "Nombres de usuario propios",
  ],
  ownLoginNamesAbout: [
    "Two organizations may have a user of the same name. Users then sign in with name@organization.",
    "Zwei Organisationen dürfen gleichnamige Benutzer haben. Diese melden sich dann mit name@organisation an.",
    "Deux organisations peuvent avoir le même identifiant. On se connecte alors avec nom@organisation.",
    "Dos organizaciones pueden tener el mismo nombre de usuario. Se inicia sesión con nombre@organización.",
  ],
  requiresAcceptance: [
    "Accepts roles before they count",
    "Nimmt Rollen erst an, bevor sie gelten",
    "Accepte les rôles avant qu’ils comptent",
    "Acepta los roles antes de que valgan",
  ],
  requiresAcceptanceAbout: [
    "Other organizations can give its users roles only after an owner has agreed.",
    "Andere Organisationen können ihren Benutzern erst Rollen geben, wenn ein Eigentümer zugestimmt hat.",
    "Les autres organisations n’attribuent des rôles à ses utilisateurs qu’après l’accord d’un propriétaire.",
    "Otras organizaciones solo pueden dar roles a sus usuarios cuando un propietario está de acuerdo.",
  ],
  parts: [
    "Parts of the organization",
    "Teile der Organisation",
    "Parties de l’organisation",
    "Partes de la organización",
  ],
  settings: ["Settings", "Einstellungen", "Paramètres", "Ajustes"],
  members: ["Administrators", "Administratoren", "Administrateurs", "Administradores"],
  stateOf: [
    "State of the organization",
    "Status der Organisation",
    "État de l’organisation",
    "Estado de la organización",
  ],
  deactivateAbout: [
    "Its users can neither sign in nor make calls, and roles in its projects have no effect, until you reactivate it.",
    "Ihre Benutzer können sich weder anmelden noch etwas aufrufen, und Rollen in ihren Projekten wirken nicht, bis Sie sie reaktivieren.",
    "Ses utilisateurs ne peuvent ni se connecter ni faire d’appels, et les rôles de ses projets restent sans effet jusqu’à la réactivation.",
    "Sus usuarios no pueden iniciar sesión ni hacer llamadas, y los roles de sus proyectos no tienen efecto, hasta que la reactive.",
  ],
  reactivateAbout: [
    "Its users can sign in again.",
    "Ihre Benutzer können sich wieder anmelden.",
    "Ses utilisateurs peuvent de nouveau se connecter.",
    "Sus usuarios pueden volver a iniciar sesión.",
  ],
  remove: ["Delete organization", "Organisation löschen", "Supprimer l’organisation", "Eliminar organización"],
  removeAbout: [
    "Deletes {name} with all users, projects and applications. This cannot be undone. Type the name to confirm.",
    "Löscht {name} mit allen Benutzern, Projekten und Anwendungen. Das lässt sich nicht rückgängig machen. Geben Sie zur Bestätigung den Namen ein.",
    "Supprime {name} avec ses utilisateurs, projets et applications. C’est irréversible. Saisissez le nom pour confirmer.",
    "Elimina {name} con todos sus usuarios, proyectos y aplicaciones. No se puede deshacer. Escriba el nombre para confirmar.",
  ],
  removing: [
    "The organization is being deleted",
    "Die Organisation wird gelöscht",
    "Suppression en cours",
    "Se está eliminando la organización",
  ],
  nameDiffers: ["That is not its name.", "Das ist nicht ihr Name.", "Ce n’est pas son nom.", "Ese no es su nombre."],
  historyAbout: [
    "What happened to the organization itself.",
    "Was mit der Organisation selbst geschah.",
    "Ce qui est arrivé à l’organisation elle-même.",
    "Lo que ocurrió con la propia organización.",
  ],
} satisfies Texts;
