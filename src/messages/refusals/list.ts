import type { Texts } from "../language.ts";

/** Texts of refusals of a list: its search, its order and its pages. */
export const listTexts = {
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
  PAGE_TOKEN_INVALID: {
    en: "The page token does not belong to this list.",
    de: "Das Seiten-Token gehört nicht zu dieser Liste.",
    fr: "Le jeton de page n’appartient pas à cette liste.",
    es: "El token de página no pertenece a esta lista.",
  },
  PAGE_TOKEN_FOREIGN: {
    en: "Is not a page token of this list.",
    de: "Das ist kein Seiten-Token dieser Liste.",
    fr: "Ce n’est pas un jeton de page de cette liste.",
    es: "No es un token de página de esta lista.",
  },
  PAGE_OF_OTHER_QUERY: {
    en: "Belongs to another query; leave it out to get the first page of this one.",
    de: "Das gehört zu einer anderen Abfrage: Die erste Seite dieser hat kein Token.",
    fr: "Appartient à une autre recherche\u202f: la première page de celle-ci n’a pas de jeton.",
    es: "Pertenece a otra consulta: la primera página de esta no tiene token.",
  },
} as const satisfies Record<string, Texts>;
