import type { Texts } from "../language.ts";

/** Texts of violations of an application's origins. */
export const originTexts = {
  ORIGIN_NO_SCHEME: {
    en: "Must be scheme://hostname[:port]: it has no scheme://.",
    de: "Hier muss scheme://hostname[:port] stehen: scheme:// fehlt.",
    fr: "Doit être scheme://hostname[:port]\u202f: il manque scheme://.",
    es: "Debe ser scheme://hostname[:port]: falta scheme://.",
  },
  ORIGIN_DANGEROUS: {
    en: "Must be scheme://hostname[:port]: its scheme can run code or read files.",
    de: "Hier muss scheme://hostname[:port] stehen: das Schema kann Code ausführen oder Dateien lesen.",
    fr: "Doit être scheme://hostname[:port]\u202f: son schéma peut exécuter du code ou lire des fichiers.",
    es: "Debe ser scheme://hostname[:port]: su esquema puede ejecutar código o leer archivos.",
  },
  ORIGIN_SCHEME: {
    en: "Must be scheme://hostname[:port]: its scheme is malformed.",
    de: "Hier muss scheme://hostname[:port] stehen: das Schema ist ungültig.",
    fr: "Doit être scheme://hostname[:port]\u202f: son schéma est mal formé.",
    es: "Debe ser scheme://hostname[:port]: su esquema está mal formado.",
  },
  ORIGIN_USER: {
    en: "Must be scheme://hostname[:port]: it has user information.",
    de: "Hier muss scheme://hostname[:port] stehen: es hat Benutzerangaben.",
    fr: "Doit être scheme://hostname[:port]\u202f: elle contient des informations d’utilisateur.",
    es: "Debe ser scheme://hostname[:port]: contiene datos de usuario.",
  },
  ORIGIN_PATH: {
    en: "Must be scheme://hostname[:port]: it has a path.",
    de: "Hier muss scheme://hostname[:port] stehen: es hat einen Pfad.",
    fr: "Doit être scheme://hostname[:port]\u202f: elle a un chemin.",
    es: "Debe ser scheme://hostname[:port]: tiene una ruta.",
  },
  ORIGIN_QUERY: {
    en: "Must be scheme://hostname[:port]: it has a query.",
    de: "Hier muss scheme://hostname[:port] stehen: es hat einen Query-Teil.",
    fr: "Doit être scheme://hostname[:port]\u202f: elle a une requête.",
    es: "Debe ser scheme://hostname[:port]: tiene una consulta.",
  },
  ORIGIN_FRAGMENT: {
    en: "Must be scheme://hostname[:port]: it has a fragment.",
    de: "Hier muss scheme://hostname[:port] stehen: es hat ein Fragment.",
    fr: "Doit être scheme://hostname[:port]\u202f: elle a un fragment.",
    es: "Debe ser scheme://hostname[:port]: tiene un fragmento.",
  },
  ORIGIN_NO_HOST: {
    en: "Must be scheme://hostname[:port]: its hostname is missing.",
    de: "Hier muss scheme://hostname[:port] stehen: der Hostname fehlt.",
    fr: "Doit être scheme://hostname[:port]\u202f: il manque le nom d’hôte.",
    es: "Debe ser scheme://hostname[:port]: falta el nombre de host.",
  },
  ORIGIN_HOST: {
    en: "Must be scheme://hostname[:port]: its hostname is malformed.",
    de: "Hier muss scheme://hostname[:port] stehen: der Hostname ist ungültig.",
    fr: "Doit être scheme://hostname[:port]\u202f: son nom d’hôte est mal formé.",
    es: "Debe ser scheme://hostname[:port]: su nombre de host está mal formado.",
  },
  ORIGIN_PORT: {
    en: "Must be scheme://hostname[:port]: its port is malformed.",
    de: "Hier muss scheme://hostname[:port] stehen: der Port ist ungültig.",
    fr: "Doit être scheme://hostname[:port]\u202f: son port est mal formé.",
    es: "Debe ser scheme://hostname[:port]: su puerto está mal formado.",
  },
} as const satisfies Record<string, Texts>;
