import type { Texts } from "../language.ts";

/** Texts of violations of a public key (JWK), or of the URI of a set of them. */
export const keyTexts = {
  KEY_SET_URI: {
    en: "Must be an https URI without user information, fragment or whitespace.",
    de: "Hier muss eine https-URI ohne Benutzerangaben, Fragment und Leerzeichen stehen.",
    fr: "Doit être une URI https sans informations d’utilisateur, fragment ni espaces.",
    es: "Debe ser una URI https sin datos de usuario, fragmento ni espacios.",
  },
  KEY_MEMBER_MISSING: {
    en: "Is required for {kty} keys.",
    de: "Für Schlüssel der Art {kty} ist das nötig.",
    fr: "Est obligatoire pour les clés {kty}.",
    es: "Es obligatorio para las claves {kty}.",
  },
  KEY_MEMBER_FOREIGN: {
    en: "Does not belong in a {kty} key.",
    de: "Schlüssel der Art {kty} haben das nicht.",
    fr: "Ne fait pas partie des clés {kty}.",
    es: "No forma parte de las claves {kty}.",
  },
  KEY_NUMBERS: {
    en: "Is not a public key: its numbers do not match.",
    de: "Das ist kein öffentlicher Schlüssel: Seine Zahlen passen nicht zueinander.",
    fr: "Ce n’est pas une clé publique\u202f: ses nombres ne vont pas ensemble.",
    es: "No es una clave pública: sus números no encajan entre sí.",
  },
  KEY_BITS: {
    en: "Must have {min} to {max} bits.",
    de: "Erlaubt sind {min} bis {max} Bit.",
    fr: "Doit avoir de {min} à {max} bits.",
    es: "Debe tener de {min} a {max} bits.",
  },
  KEY_EXPONENT: {
    en: "Must be an odd number of at least 3.",
    de: "Hier muss eine ungerade Zahl ab 3 stehen.",
    fr: "Doit être un nombre impair de 3 ou plus.",
    es: "Debe ser un número impar de 3 o más.",
  },
  KEY_ALGORITHM: {
    en: "Must be one of {names} for this key.",
    de: "Für diesen Schlüssel sind {names} erlaubt.",
    fr: "Doit être l’une de ces valeurs pour cette clé\u202f: {names}.",
    es: "Debe ser uno de estos valores para esta clave: {names}.",
  },
} as const satisfies Record<string, Texts>;
