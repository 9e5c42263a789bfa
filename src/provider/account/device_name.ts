// The first match counts: most browsers also name those that they derive from.
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\b(?:OPR|Opera)\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:Chrome|Chromium|CriOS)\//, "Chrome"],
  [/\bVersion\/.*\bSafari\//, "Safari"],
];

const systems: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad|iPod)\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/** The usual name of the program and system in a User-Agent header; programs other than browsers keep their own name. */
export function deviceOf(userAgent: string): string {
  const named = (table: typeof browsers) => table.find(([pattern]) => pattern.test(userAgent))?.[1];
  const own = /^[\w .-]{1,40}/.exec(userAgent)?.[0].trim();
  const browser = named(browsers);
  return [browser ?? own, browser && named(systems)].filter((part) => part).join(" · ");
}
