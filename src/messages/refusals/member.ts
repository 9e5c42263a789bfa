import type { Texts } from "../language.ts";

/** Texts of refusals of a member. */
export const memberTexts = {
  MEMBER_NOT_FOUND: {
    en: "Member {id} does not exist.",
    de: "Das Mitglied {id} existiert nicht.",
    fr: "Le membre {id} n’existe pas.",
    es: "El miembro {id} no existe.",
  },
  MEMBER_EXISTS: {
    en: "The user is already a member here.",
    de: "Der Benutzer ist hier schon Mitglied.",
    fr: "L’utilisateur est déjà membre ici.",
    es: "El usuario ya es miembro aquí.",
  },
  MEMBER_ROLE_SCOPE: {
    en: "Some roles cannot be given here.",
    de: "Einige Rollen können an dieser Stelle nicht vergeben werden.",
    fr: "Certains rôles ne peuvent pas être attribués à cet endroit.",
    es: "Algunos roles no pueden asignarse en este lugar.",
  },
  LAST_OWNER: {
    en: "The last owner cannot be removed; make another user an owner first.",
    de: "Der letzte Eigentümer kann nicht entfernt werden; bestimmen Sie zuerst einen anderen.",
    fr: "Le dernier propriétaire ne peut pas être retiré\u202f; désignez-en d’abord un autre.",
    es: "No se puede quitar al último propietario; nombre antes a otro.",
  },
} as const satisfies Record<string, Texts>;
