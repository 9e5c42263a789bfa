import type { Texts } from "../language.ts";

/** Texts of refusals of an email address. */
export const emailTexts = {
  EMAIL_INVALID: {
    en: "This is not a valid email address.",
    de: "Das ist keine gültige E-Mail-Adresse.",
    fr: "Cette adresse e-mail n’est pas valide.",
    es: "La dirección de correo electrónico no es válida.",
  },
  EMAIL_UNCHANGED: {
    en: "The user already has this email address.",
    de: "Der Benutzer hat diese E-Mail-Adresse bereits.",
    fr: "L’utilisateur a déjà cette adresse e-mail.",
    es: "El usuario ya tiene esta dirección de correo electrónico.",
  },
  EMAIL_VERIFIED: {
    en: "The email address is already verified.",
    de: "Die E-Mail-Adresse ist schon bestätigt.",
    fr: "L’adresse e-mail est déjà vérifiée.",
    es: "La dirección de correo electrónico ya está verificada.",
  },
  EMAIL_UNDOABLE: {
    en: "While the former email address can still undo its change, only administrators can delete the account.",
    de: "Solange die frühere E-Mail-Adresse ihren Wechsel noch rückgängig machen kann, können nur Administratoren das Konto löschen.",
    fr: "Tant que l’ancienne adresse e-mail peut encore annuler son changement, seuls les administrateurs peuvent supprimer le compte.",
    es: "Mientras el correo anterior aún pueda deshacer su cambio, solo los administradores pueden eliminar la cuenta.",
  },
  EMAIL_LOCAL_PART: {
    en: "Must have at most {max} characters before the @, and dots there only between other characters.",
    de: "Vor dem @ sind höchstens {max} Zeichen erlaubt, und Punkte nur zwischen anderen.",
    fr: "Doit comporter au plus {max} caractères avant le @, et des points seulement entre d’autres.",
    es: "Debe tener como máximo {max} caracteres antes de la @, y puntos solo entre otros.",
  },
} as const satisfies Record<string, Texts>;
