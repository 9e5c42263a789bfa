import type { Texts } from "../language.ts";

/** Texts of violations in imported data: ids, hashes of passwords, and users by the hundred. */
export const importTexts = {
  USER_ID_RESERVED: {
    en: 'Must not be "me", which stands for the caller.',
    de: "Das darf nicht „me“ sein, das für den Aufrufer steht.",
    fr: "Ne doit pas être «\u202fme\u202f», qui désigne l’appelant.",
    es: "No debe ser «me», que representa a quien llama.",
  },
  USERNAME_RESERVED: {
    en: "Must not end in @ and what looks like the id of an organization.",
    de: "Das darf nicht mit @ und etwas enden, das wie die ID einer Organisation aussieht.",
    fr: "Ne doit pas se terminer par @ et ce qui ressemble à l’identifiant d’une organisation.",
    es: "No debe terminar en @ y algo que parezca el identificador de una organización.",
  },
  USERNAME_MIXED_SCRIPTS: {
    en: "All letters must be of one alphabet: do not mix Latin, Cyrillic and Greek ones, which look alike.",
    de: "Alle Buchstaben müssen aus einem Alphabet sein: Mischen Sie nicht lateinische, kyrillische und griechische, die gleich aussehen.",
    fr: "Toutes les lettres doivent venir d’un seul alphabet\u202f: ne mélangez pas les latines, les cyrilliques et les grecques, qui se ressemblent.",
    es: "Todas las letras deben ser de un solo alfabeto: no mezcle latinas, cirílicas y griegas, que se parecen.",
  },
  USERNAME_OF_OTHER_ADDRESS: {
    en: "If it is an email address, it must be your own.",
    de: "Wenn das eine E-Mail-Adresse ist, muss es Ihre eigene sein.",
    fr: "Si c’est une adresse e-mail, ce doit être la vôtre.",
    es: "Si es una dirección de correo electrónico, debe ser la suya.",
  },
  USERNAME_NOT_ADDRESS: {
    en: "In this organization, it must be your email address.",
    de: "In dieser Organisation muss das Ihre E-Mail-Adresse sein.",
    fr: "Dans cette organisation, ce doit être votre adresse e-mail.",
    es: "En esta organización debe ser su correo electrónico.",
  },
  USER_ID_OF_POLICY: {
    en: 'Must not be "{id}", which stands for a policy.',
    de: "Das darf nicht „{id}“ sein, das für eine Richtlinie steht.",
    fr: "Ne doit pas être «\u202f{id}\u202f», qui désigne une politique.",
    es: "No debe ser «{id}», que representa una política.",
  },
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
  SECRET_NOT_KEPT: {
    en: "Is allowed only for applications that authenticate with BASIC or POST.",
    de: "Das ist nur für Anwendungen, die sich mit BASIC oder POST anmelden.",
    fr: "N’est que pour les applications qui s’authentifient par BASIC ou POST.",
    es: "Solo es para aplicaciones que se autentican con BASIC o POST.",
  },
} satisfies Record<string, Texts>;
