/** The colours that an organization set, each `#rrggbb` or empty. */
export type BrandColors = Readonly<
  Record<"accentColor" | "backgroundColor" | "darkAccentColor" | "darkBackgroundColor", string>
>;

/** The colours of a page: of buttons and links, of the text on buttons, and of the background around the form. */
export type ShownColors = Readonly<Record<"accentColor" | "textColor" | "backgroundColor", string>>;

/** The default colours, which must match the stylesheet of all pages. */
export const ourColors = {
  light: { card: "#ffffff", accent: "#1a4fba", ground: "#f5f6f8" },
  dark: { card: "#1f242a", accent: "#9bbcff", ground: "#14171b" },
} as const;

// WCAG 2.2, 1.4.3.
const leastContrast = 4.5;

/** Computes legible colours for light and dark pages. */
export function shownColors(colors: BrandColors): { readonly light: ShownColors; readonly dark: ShownColors } {
  const { light, dark } = ourColors;
  const darkAccent = colors.darkAccentColor || colors.accentColor || dark.accent;
  return {
    light: shown(colors.accentColor || light.accent, light.card, colors.backgroundColor || light.ground),
    dark: shown(darkAccent, dark.card, colors.darkBackgroundColor || dark.ground),
  };
}

function shown(accent: string, card: string, backgroundColor: string): ShownColors {
  const accentColor = readable(accent, card);
  // Black or white: one of them has a contrast of at least 4.58 with any colour.
  const textColor = contrast("#ffffff", accentColor) >= leastContrast ? "#ffffff" : "#000000";
  return { accentColor, textColor, backgroundColor };
}

/** Mixes a colour with just enough black or white to be legible on another one. */
function readable(color: string, on: string): string {
  const end = luminance(on) > 0.18 ? 0 : 255;
  for (let share = 0; share < 100; share++) {
    const mixed = hexOf(channelsOf(color).map((channel) => Math.round(channel + ((end - channel) * share) / 100)));
    if (contrast(mixed, on) >= leastContrast) return mixed;
  }
  return end === 0 ? "#000000" : "#ffffff";
}

/** The contrast ratio of two colours (WCAG 2.2). */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** The relative luminance of a colour (WCAG 2.2). */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channelsOf(color).map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const channelsOf = (color: string): readonly number[] =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

const hexOf = (channels: readonly number[]): string =>
  `#${channels.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
