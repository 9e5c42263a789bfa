import type { Texts } from "./text.ts";

/** The states of objects. */
export const stateTexts = {
  ACTIVE: ["Active", "Aktiv", "Actif", "Activo"],
  INACTIVE: ["Deactivated", "Deaktiviert", "Désactivé", "Desactivado"],
  LOCKED: ["Locked", "Gesperrt", "Verrouillé", "Bloqueado"],
  PENDING: ["Pending", "Offen", "En attente", "Pendiente"],
  EXPIRED: ["Expired", "Abgelaufen", "Expiré", "Caducado"],
} satisfies Texts;
