import type { Texts } from "../language.ts";

/** Texts of violations of a branding. */
export const brandingTexts = {
  IMAGE_TYPE: {
    en: "Must be a PNG, JPEG or WebP image.",
    de: "Das muss ein Bild in PNG, JPEG oder WebP sein.",
    fr: "Doit être une image PNG, JPEG ou WebP.",
    es: "Debe ser una imagen PNG, JPEG o WebP.",
  },
  IMAGE_TOO_LARGE: {
    en: "Must be between 1 and {max} pixels in width and in height.",
    de: "Das Bild muss in jeder Richtung zwischen 1 und {max} Pixel haben.",
    fr: "L’image doit avoir entre 1 et {max} pixels dans chaque sens.",
    es: "La imagen debe tener entre 1 y {max} píxeles en cada sentido.",
  },
  LINK_URI: {
    en: "Must be an https URI without user information or whitespace.",
    de: "Hier muss eine https-URI ohne Benutzerangaben und Leerzeichen stehen.",
    fr: "Doit être une URI https sans informations d’utilisateur ni espaces.",
    es: "Debe ser una URI https sin datos de usuario ni espacios.",
  },
} as const satisfies Record<string, Texts>;
