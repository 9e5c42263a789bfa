import type { Texts } from "../language.ts";

/** Texts of violations in requests that change objects, including deactivated ones. */
export const changeTexts = {
  MASK_PATH: {
    en: 'The field "{path}" cannot be changed here.',
    de: "Ein Feld „{path}“ lässt sich hier nicht ändern.",
    fr: "Aucun champ «\u202f{path}\u202f» ne peut être modifié ici.",
    es: "Ningún campo «{path}» puede cambiarse aquí.",
  },
  MASK_NOTHING: {
    en: "Must name a field, because none is set in the request.",
    de: "Hier ist kein Feld genannt, und keines ist ausgefüllt.",
    fr: "Aucun champ n’est nommé, et aucun n’est renseigné.",
    es: "No se nombra ningún campo, y ninguno está relleno.",
  },
  ONLY_INSTANCE_OWNER: {
    en: "Only an INSTANCE_OWNER can set this.",
    de: "Nur ein INSTANCE_OWNER kann das setzen.",
    fr: "Seul un INSTANCE_OWNER peut définir ceci.",
    es: "Solo un INSTANCE_OWNER puede establecer esto.",
  },
  FIELD_OR: {
    en: "Is required unless {other} is set.",
    de: "Diese Angabe fehlt, oder {other} an ihrer Stelle.",
    fr: "Ce champ est obligatoire, ou {other} à sa place.",
    es: "Este campo es obligatorio, o {other} en su lugar.",
  },
  PROJECT_DEACTIVATED: {
    en: "Project {id} is deactivated.",
    de: "Das Projekt {id} ist zurzeit deaktiviert.",
    fr: "Le projet {id} est pour l’instant désactivé.",
    es: "El proyecto {id} está desactivado por ahora.",
  },
  TOKEN_LIFETIME: {
    en: "Must be within {max} seconds from now.",
    de: "Der Zeitpunkt muss in den nächsten {max} Sekunden liegen.",
    fr: "Doit être dans les {max} prochaines secondes.",
    es: "Debe estar dentro de los próximos {max} segundos.",
  },
  CODE_NOT_IN_FORCE: {
    en: "Is not a valid code: it is wrong, was already used or has expired.",
    de: "Das ist kein gültiger Code: Er ist falsch, verbraucht oder abgelaufen.",
    fr: "Ce n’est pas un code en vigueur\u202f: il est faux, utilisé ou expiré.",
    es: "No es un código en vigor: es incorrecto, se usó o ha caducado.",
  },
  EMAIL_LOCAL_PART: {
    en: "Must have at most {max} characters before the @, and dots there only between other characters.",
    de: "Vor dem @ sind höchstens {max} Zeichen erlaubt, und Punkte nur zwischen anderen.",
    fr: "Doit comporter au plus {max} caractères avant le @, et des points seulement entre d’autres.",
    es: "Debe tener como máximo {max} caracteres antes de la @, y puntos solo entre otros.",
  },
  FIELD_ONE_OF: {
    en: "One of {one} and {other} is required.",
    de: "Eine der Angaben {one} und {other} ist nötig.",
    fr: "L’un des champs {one} et {other} est obligatoire.",
    es: "Uno de los campos {one} y {other} es obligatorio.",
  },
  SEARCH_EMPTY: {
    en: "Must contain a letter or a digit.",
    de: "Es muss einen Buchstaben oder eine Ziffer geben.",
    fr: "Doit contenir une lettre ou un chiffre.",
    es: "Debe tener una letra o un dígito.",
  },
  SEARCH_MAX: {
    en: "Must contain at most {max} words.",
    de: "Höchstens {max} Wörter sind erlaubt.",
    fr: "Doit comporter au plus {max} mots.",
    es: "Debe tener como máximo {max} palabras.",
  },
  ORDER_BY_NAME: {
    en: "Must order by name when {other} is set.",
    de: "Mit {other} muss nach dem Namen geordnet werden.",
    fr: "Doit être par nom quand {other} est donné.",
    es: "Debe ser por nombre cuando se indica {other}.",
  },
  ORDER_BY_AGE: {
    en: "Must order by age when {other} is set.",
    de: "Mit {other} muss nach dem Alter geordnet werden.",
    fr: "Doit être par ancienneté quand {other} est donné.",
    es: "Debe ser por antigüedad cuando se indica {other}.",
  },
  PAGE_OF_OTHER_QUERY: {
    en: "Belongs to another query; leave it out to get the first page of this one.",
    de: "Das gehört zu einer anderen Abfrage: Die erste Seite dieser hat kein Token.",
    fr: "Appartient à une autre recherche\u202f: la première page de celle-ci n’a pas de jeton.",
    es: "Pertenece a otra consulta: la primera página de esta no tiene token.",
  },
  PROJECT_NEEDED: {
    en: "Is required with {other}, because each project has its own roles.",
    de: "Mit {other} ist das nötig: Jedes Projekt hat eigene Rollen.",
    fr: "Est obligatoire avec {other}\u202f: chaque projet a ses propres rôles.",
    es: "Es obligatorio con {other}: cada proyecto tiene sus propios roles.",
  },
  ORGANIZATION_ID: {
    en: "Must be the id of an organization.",
    de: "Hier muss die ID einer Organisation stehen.",
    fr: "Doit être l’identifiant d’une organisation.",
    es: "Debe ser el identificador de una organización.",
  },
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
