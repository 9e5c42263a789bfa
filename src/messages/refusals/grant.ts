import type { Texts } from "../language.ts";

/** Texts of refusals of a user grant or a project grant. */
export const grantTexts = {
  USER_GRANT_NOT_FOUND: {
    en: "User grant {id} does not exist.",
    de: "Die Benutzerberechtigung {id} existiert nicht.",
    fr: "L’attribution {id} n’existe pas.",
    es: "La concesión de usuario {id} no existe.",
  },
  USER_GRANT_EXISTS: {
    en: "The user already has a grant for this project.",
    de: "Der Benutzer hat für dieses Projekt schon eine Berechtigung.",
    fr: "L’utilisateur a déjà une attribution pour ce projet.",
    es: "El usuario ya tiene una concesión para este proyecto.",
  },
  PROJECT_GRANT_NOT_FOUND: {
    en: "Project grant {id} does not exist.",
    de: "Die Projektfreigabe {id} existiert nicht.",
    fr: "Le partage de projet {id} n’existe pas.",
    es: "La concesión de proyecto {id} no existe.",
  },
  PROJECT_GRANT_EXISTS: {
    en: "The project is already granted to this organization.",
    de: "Das Projekt ist für diese Organisation schon freigegeben.",
    fr: "Le projet est déjà partagé avec cette organisation.",
    es: "El proyecto ya está concedido a esta organización.",
  },
  PROJECT_GRANT_NEEDED: {
    en: "The project belongs to another organization, so you must specify the project grant.",
    de: "Das Projekt gehört einer anderen Organisation, daher muss die Projektfreigabe angegeben werden.",
    fr: "Le projet appartient à une autre organisation, il faut donc indiquer le partage de projet.",
    es: "El proyecto pertenece a otra organización, por lo que debe indicarse la concesión de proyecto.",
  },
  GRANT_TO_OWNER: {
    en: "A project cannot be granted to the organization that owns it.",
    de: "Ein Projekt kann nicht für die Organisation freigegeben werden, der es gehört.",
    fr: "Un projet ne peut pas être partagé avec l’organisation à laquelle il appartient.",
    es: "Un proyecto no puede concederse a la organización a la que pertenece.",
  },
  GRANT_ROLES_MANY: {
    en: "Would give the user grant more than {most} roles.",
    de: "Damit hätte die Benutzerberechtigung mehr als {most} Rollen.",
    fr: "L’attribution aurait ainsi plus de {most} rôles.",
    es: "La concesión de usuario tendría así más de {most} roles.",
  },
  PROJECT_OWNER_SAME: {
    en: "Is the organization that owns the project.",
    de: "Dieser Organisation gehört das Projekt.",
    fr: "Cette organisation est propriétaire du projet.",
    es: "Esta organización es la propietaria del proyecto.",
  },
  ENDED_BY_RECEIVER: {
    en: "The user or the user's organization ended the roles that your organization gave, and must allow them again first.",
    de: "Der Benutzer oder seine Organisation hat die Rollen beendet, die Ihre Organisation vergeben hat, und muss sie erst wieder zulassen.",
    fr: "L’utilisateur ou son organisation a mis fin aux rôles attribués par votre organisation et doit d’abord les autoriser de nouveau.",
    es: "El usuario o su organización puso fin a los roles que dio la organización de usted y antes debe permitirlos de nuevo.",
  },
  ACCEPTANCE_REQUIRED: {
    en: "The organization that receives this has to accept it first, and can be given no more than it has accepted.",
    de: "Die empfangende Organisation muss zuerst annehmen und bekommt nicht mehr, als sie angenommen hat.",
    fr: "L’organisation qui reçoit doit d’abord accepter et ne reçoit pas plus que ce qu’elle a accepté.",
    es: "La organización que lo recibe debe aceptarlo antes y no recibe más de lo que ha aceptado.",
  },
  ITEM_LIKE: {
    en: "Has the same user and project as {other}.",
    de: "Das ist für denselben Benutzer und dasselbe Projekt wie {other}.",
    fr: "Concerne le même utilisateur et le même projet que {other}.",
    es: "Es para el mismo usuario y proyecto que {other}.",
  },
} as const satisfies Record<string, Texts>;
