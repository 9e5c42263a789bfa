import type { Texts } from "./text.ts";

/** The texts of metadata. */
export const metadataTexts = {
  metadata: ["Metadata", "Metadaten", "Métadonnées", "Metadatos"],
  about: [
    "Texts by key, for administrators and applications.",
    "Texte unter Schlüsseln, für Administratoren und Anwendungen.",
    "Des textes par clé, pour les administrateurs et les applications.",
    "Textos por clave, para administradores y aplicaciones.",
  ],
  none: ["No metadata.", "Keine Metadaten.", "Aucune métadonnée.", "No hay metadatos."],
  add: ["Add entry", "Eintrag hinzufügen", "Ajouter une entrée", "Añadir entrada"],
  key: ["Key", "Schlüssel", "Clé", "Clave"],
  keyAbout: [
    "Letters, digits and _ . : / -",
    "Buchstaben, Ziffern und _ . : / -",
    "Lettres, chiffres et _ . : / -",
    "Letras, dígitos y _ . : / -",
  ],
  taken: [
    "There is an entry with this key.",
    "Einen Eintrag mit diesem Schlüssel gibt es schon.",
    "Une entrée porte déjà cette clé.",
    "Ya hay una entrada con esta clave.",
  ],
  value: ["Value", "Wert", "Valeur", "Valor"],
  shared: ["Shared", "Geteilt", "Partagée", "Compartida"],
  sharedAbout: [
    "Applications of other organizations, too, may receive it as a claim.",
    "Auch Anwendungen anderer Organisationen dürfen ihn als Claim erhalten.",
    "Les applications d’autres organisations peuvent aussi la recevoir comme claim.",
    "También pueden recibirla como claim las aplicaciones de otras organizaciones.",
  ],
  removeAbout: [
    "Tokens that are issued from now on lack what came from {key}.",
    "Token, die ab jetzt ausgestellt werden, enthalten nicht mehr, was aus {key} kam.",
    "Les jetons émis désormais n’auront plus ce qui venait de {key}.",
    "Los tokens que se emitan desde ahora no tendrán lo que venía de {key}.",
  ],
} satisfies Texts;
