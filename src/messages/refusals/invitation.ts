import type { Texts } from "../language.ts";

/** Texts of refusals of an invitation. */
export const invitationTexts = {
  INVITATION_NOT_FOUND: {
    en: "Invitation {id} does not exist.",
    de: "Die Einladung {id} existiert nicht.",
    fr: "L’invitation {id} n’existe pas.",
    es: "La invitación {id} no existe.",
  },
  INVITATION_EXISTS: {
    en: "There is such an invitation already; send it again, or withdraw it first.",
    de: "Diese Einladung gibt es schon; senden Sie sie erneut oder ziehen Sie sie zuerst zurück.",
    fr: "Cette invitation existe déjà\u202f; renvoyez-la ou retirez-la d’abord.",
    es: "Esa invitación ya existe; reenvíela o retírela antes.",
  },
  INVITATION_LIMIT: {
    en: "An organization can have at most {limit} invitations; withdraw some first.",
    de: "Eine Organisation hat höchstens {limit} Einladungen; ziehen Sie zuerst einige zurück.",
    fr: "Une organisation a au plus {limit} invitations\u202f; retirez-en d’abord quelques-unes.",
    es: "Una organización tiene como máximo {limit} invitaciones; retire antes algunas.",
  },
  INVITATION_FOR_OTHER_ADDRESS: {
    en: "The invitation is for another address than that of this account.",
    de: "Die Einladung gilt einer anderen Adresse als der dieses Kontos.",
    fr: "L’invitation concerne une autre adresse que celle de ce compte.",
    es: "La invitación es para otra dirección que la de esta cuenta.",
  },
  INVITATION_ADDRESS_UNCONFIRMED: {
    en: "This account has the invited address, but it has to be confirmed first.",
    de: "Dieses Konto hat die eingeladene Adresse, sie muss aber zuerst bestätigt werden.",
    fr: "Ce compte a l’adresse invitée, mais il faut d’abord la confirmer.",
    es: "Esta cuenta tiene la dirección invitada, pero antes hay que confirmarla.",
  },
  INVITATION_OFFERS_NOTHING: {
    en: "The invitation offers no roles, so it is only for new users.",
    de: "Die Einladung bietet keine Rollen und gilt daher nur für neue Benutzer.",
    fr: "L’invitation ne propose aucun rôle et ne concerne donc que les nouveaux utilisateurs.",
    es: "La invitación no ofrece roles, así que es solo para usuarios nuevos.",
  },
  OFFER_EXPIRED: {
    en: "The roles that the invitation offers have ended already.",
    de: "Die Rollen, die die Einladung anbietet, sind bereits abgelaufen.",
    fr: "Les rôles que l’invitation propose ont déjà pris fin.",
    es: "Los roles que ofrece la invitación ya han terminado.",
  },
  INVITER_NOT_ENTITLED: {
    en: "Whoever sent the invitation may no longer invite; ask for a new one.",
    de: "Wer die Einladung gesendet hat, darf nicht mehr einladen; bitten Sie um eine neue.",
    fr: "La personne qui a envoyé l’invitation n’a plus le droit d’inviter\u202f; demandez-en une nouvelle.",
    es: "Quien envió la invitación ya no puede invitar; pida una nueva.",
  },
} as const satisfies Record<string, Texts>;
