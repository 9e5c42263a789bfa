import type { Texts } from "../language.ts";

/** Texts of refusals of the domain of an organization. */
export const domainTexts = {
  DOMAIN_NOT_FOUND: {
    en: "Domain {id} does not exist.",
    de: "Die Domain {id} existiert nicht.",
    fr: "Le domaine {id} n’existe pas.",
    es: "El dominio {id} no existe.",
  },
  DOMAIN_INVALID: {
    en: "Must be a domain such as example.com.",
    de: "Das muss eine Domain wie example.com sein.",
    fr: "Doit être un domaine tel que example.com.",
    es: "Debe ser un dominio como example.com.",
  },
  DOMAIN_EXISTS: {
    en: "The organization has already added the domain {name}.",
    de: "Die Organisation hat die Domain {name} schon hinzugefügt.",
    fr: "L’organisation a déjà ajouté le domaine {name}.",
    es: "La organización ya ha añadido el dominio {name}.",
  },
  DOMAIN_TAKEN: {
    en: "Another organization has the domain {name}.",
    de: "Eine andere Organisation hat die Domain {name}.",
    fr: "Une autre organisation possède le domaine {name}.",
    es: "Otra organización tiene el dominio {name}.",
  },
  DOMAIN_LIMIT: {
    en: "An organization can have at most {limit} domains.",
    de: "Eine Organisation hat höchstens {limit} Domains.",
    fr: "Une organisation a au plus {limit} domaines.",
    es: "Una organización tiene como máximo {limit} dominios.",
  },
  DOMAIN_RECORD_MISSING: {
    en: "DNS has no TXT record {record} with the value {value}.",
    de: "Im DNS gibt es keinen TXT-Eintrag {record} mit dem Wert {value}.",
    fr: "Le DNS n’a pas d’enregistrement TXT {record} avec la valeur {value}.",
    es: "El DNS no tiene ningún registro TXT {record} con el valor {value}.",
  },
  DOMAIN_CHECK_FAILED: {
    en: "The TXT record {record} could not be looked up because DNS gave no answer; please try again later.",
    de: "Der TXT-Eintrag {record} konnte nicht abgefragt werden, weil das DNS keine Antwort gab; bitte versuchen Sie es später wieder.",
    fr: "L’enregistrement TXT {record} n’a pas pu être consulté, car le DNS n’a pas répondu\u202f; veuillez réessayer plus tard.",
    es: "No se pudo consultar el registro TXT {record} porque el DNS no respondió; inténtelo de nuevo más tarde.",
  },
} as const satisfies Record<string, Texts>;
