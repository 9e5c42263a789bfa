import type { Texts } from "../language.ts";

/** Texts of violations of what comes from elsewhere: hashes of passwords, and users by the hundred. */
export const importTexts = {
  PASSWORD_HASH_MALFORMED: {
    en: "Must be an argon2, scrypt or PBKDF2 hash in PHC format, or a bcrypt hash.",
    de: "Hier muss ein Hash von argon2, scrypt oder PBKDF2 in der PHC-Form stehen, oder einer von bcrypt.",
    fr: "Doit être un condensat argon2, scrypt ou PBKDF2 au format PHC, ou bcrypt.",
    es: "Debe ser un hash de argon2, scrypt o PBKDF2 en formato PHC, o de bcrypt.",
  },
  PASSWORD_HASH_LENGTH: {
    en: "Must have a salt of {minSalt} to {maxSalt} bytes and a hash of {minHash} to {maxHash} bytes.",
    de: "Das Salt muss {minSalt} bis {maxSalt} Bytes haben und der Hash {minHash} bis {maxHash} Bytes.",
    fr: "Doit avoir un sel de {minSalt} à {maxSalt} octets et un condensat de {minHash} à {maxHash} octets.",
    es: "Debe tener una sal de {minSalt} a {maxSalt} bytes y un hash de {minHash} a {maxHash} bytes.",
  },
  PASSWORD_HASH_TOO_COSTLY: {
    en: "Costs too much to check: {parameter} is {value} but may be at most {most}.",
    de: "Die Prüfung kostet zu viel: {parameter} ist {value} und darf höchstens {most} sein.",
    fr: "La vérification coûte trop cher\u202f: {parameter} vaut {value}, et au plus {most} est permis.",
    es: "Comprobarlo cuesta demasiado: {parameter} es {value} y puede ser como máximo {most}.",
  },
  TOO_MANY_PASSWORDS: {
    en: "Exceeds the limit of {most} plain-text passwords per request.",
    de: "Das ist eines von mehr als {most} Passwörtern im Klartext in einer Anfrage.",
    fr: "Fait partie de plus de {most} mots de passe en clair dans une même requête.",
    es: "Es una de más de {most} contraseñas en claro en una misma solicitud.",
  },
  ITEM_REPEATED: {
    en: "Is the same as in {other}.",
    de: "Das ist dasselbe wie bei {other}.",
    fr: "Est le même que celui de {other}.",
    es: "Es el mismo que el de {other}.",
  },
} as const satisfies Record<string, Texts>;
