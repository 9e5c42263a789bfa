import type { Texts } from "../language.ts";

/** Texts of refusals of people who create an account of their own. */
export const registrationTexts = {
  REGISTRATION_CLOSED: {
    en: "Nobody can create an account in this organization themselves.",
    de: "In dieser Organisation kann niemand selbst ein Konto anlegen.",
    fr: "Personne ne peut créer soi-même un compte dans cette organisation.",
    es: "Nadie puede crear por sí mismo una cuenta en esta organización.",
  },
  REGISTRATION_DOMAIN: {
    en: "Only people with an address of this organization can create an account there.",
    de: "Nur wer eine Adresse dieser Organisation hat, kann dort ein Konto anlegen.",
    fr: "Seules les personnes qui ont une adresse de cette organisation peuvent y créer un compte.",
    es: "Solo quien tiene una dirección de esta organización puede crear una cuenta en ella.",
  },
  REGISTRATION_ADDRESS_KNOWN: {
    en: "There is an account with this address by now; sign in with it instead.",
    de: "Inzwischen gibt es ein Konto mit dieser Adresse; melden Sie sich damit an.",
    fr: "Il existe désormais un compte avec cette adresse\u202f; connectez-vous avec ce compte.",
    es: "Ya existe una cuenta con esta dirección; inicie sesión con ella.",
  },
} as const satisfies Record<string, Texts>;
