import type { Texts } from "../language.ts";

/** Texts of refusals of a password, and of the rules that a new one can break. */
export const passwordTexts = {
  PASSWORD_ATTEMPTS: {
    en: "Too many wrong passwords; please try again later.",
    de: "Es gab zu viele falsche Passwörter; bitte versuchen Sie es später noch einmal.",
    fr: "Il y a eu trop de mots de passe incorrects\u202f; veuillez réessayer plus tard.",
    es: "Ha habido demasiadas contraseñas incorrectas; vuelva a intentarlo más tarde.",
  },
  PASSWORD_MISMATCH: {
    en: "The old password is wrong.",
    de: "Das alte Passwort ist falsch.",
    fr: "L’ancien mot de passe est incorrect.",
    es: "La contraseña anterior no es correcta.",
  },
  PASSWORD_MISSING: {
    en: "The user has no password yet.",
    de: "Der Benutzer hat noch kein Passwort.",
    fr: "L’utilisateur n’a pas encore de mot de passe.",
    es: "El usuario aún no tiene contraseña.",
  },
  PASSWORD_EXISTS: {
    en: "The user already has a password.",
    de: "Der Benutzer hat schon ein Passwort.",
    fr: "L’utilisateur a déjà un mot de passe.",
    es: "El usuario ya tiene una contraseña.",
  },
  PASSWORD_CHANGE_REQUIRED: {
    en: "The password must be changed; sign in with the current password and a new one.",
    de: "Das Passwort muss geändert werden; melden Sie sich zusammen mit einem neuen an.",
    fr: "Le mot de passe doit être changé\u202f; connectez-vous en indiquant aussi le nouveau.",
    es: "Hay que cambiar la contraseña; inicie sesión indicando también una nueva.",
  },
  PASSWORD_UNCHANGED: {
    en: "The new password is the same as the old one.",
    de: "Das neue Passwort ist dasselbe wie das alte.",
    fr: "Le nouveau mot de passe est identique à l’ancien.",
    es: "La contraseña nueva es igual que la anterior.",
  },
  PASSWORD_REUSED: {
    en: "The password was used before; please choose a new one.",
    de: "Das Passwort wurde schon einmal verwendet; bitte wählen Sie ein neues.",
    fr: "Ce mot de passe a déjà été utilisé\u202f; veuillez en choisir un nouveau.",
    es: "La contraseña ya se ha usado antes; elija una nueva.",
  },
  PASSWORD_POLICY: {
    en: "The password does not meet the password policy.",
    de: "Das Passwort erfüllt die Passwortrichtlinie nicht.",
    fr: "Le mot de passe ne respecte pas la politique de mots de passe.",
    es: "La contraseña no cumple la política de contraseñas.",
  },
  PASSWORD_TOO_SHORT: {
    en: "The password must have at least {min} characters.",
    de: "Das Passwort muss mindestens {min} Zeichen haben.",
    fr: "Le mot de passe doit comporter au moins {min} caractères.",
    es: "La contraseña debe tener al menos {min} caracteres.",
  },
  PASSWORD_TOO_LONG: {
    en: "The password must not be longer than {max} bytes.",
    de: "Das Passwort darf nicht länger als {max} Bytes sein.",
    fr: "Le mot de passe ne doit pas dépasser {max} octets.",
    es: "La contraseña no debe superar los {max} bytes.",
  },
  PASSWORD_NO_UPPER: {
    en: "The password must contain an upper-case letter.",
    de: "Das Passwort muss einen Großbuchstaben enthalten.",
    fr: "Le mot de passe doit contenir une lettre majuscule.",
    es: "La contraseña debe contener una letra mayúscula.",
  },
  PASSWORD_NO_LOWER: {
    en: "The password must contain a lower-case letter.",
    de: "Das Passwort muss einen Kleinbuchstaben enthalten.",
    fr: "Le mot de passe doit contenir une lettre minuscule.",
    es: "La contraseña debe contener una letra minúscula.",
  },
  PASSWORD_NO_DIGIT: {
    en: "The password must contain a digit.",
    de: "Das Passwort muss eine Ziffer enthalten.",
    fr: "Le mot de passe doit contenir un chiffre.",
    es: "La contraseña debe contener un dígito.",
  },
  PASSWORD_NO_SYMBOL: {
    en: "The password must contain a symbol.",
    de: "Das Passwort muss ein Sonderzeichen enthalten.",
    fr: "Le mot de passe doit contenir un caractère spécial.",
    es: "La contraseña debe contener un símbolo.",
  },
  PASSWORD_TOO_COMMON: {
    en: "The password is one of those that attackers guess first.",
    de: "Das Passwort gehört zu denen, die zuerst erraten werden.",
    fr: "Ce mot de passe fait partie de ceux que l’on devine en premier.",
    es: "La contraseña es de las primeras que se adivinan.",
  },
  PASSWORD_CONTAINS_NAME: {
    en: "The password must not contain the user's own name or email address.",
    de: "Das Passwort darf weder den eigenen Namen noch die eigene E-Mail-Adresse enthalten.",
    fr: "Le mot de passe ne doit contenir ni le nom ni l’adresse e-mail de l’utilisateur.",
    es: "La contraseña no debe contener el nombre ni la dirección de correo electrónico del usuario.",
  },
} as const satisfies Record<string, Texts>;
