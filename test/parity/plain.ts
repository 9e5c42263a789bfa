/** An answer with everything that differs from call to call replaced: alike answers become equal. */
export function normalised(value: unknown): unknown {
  const seen = new Map<string, string>();
  const place = (kind: string, text: string) => {
    if (!seen.has(text)) seen.set(text, `<${kind} ${seen.size + 1}>`);
    return seen.get(text) ?? "";
  };
  const inText = (text: string) =>
    patterns.reduce((so, [kind, pattern]) => so.replace(pattern, (found) => place(kind, found)), text);
  const inside = (one: unknown, key: string): unknown => {
    if (Array.isArray(one)) return one.map((item) => inside(item, key));
    if (typeof one === "object" && one !== null)
      return Object.fromEntries(Object.entries(one).map(([name, inner]) => [name, inside(inner, name)]));
    if (typeof one !== "string") return one;
    return passing[key] !== undefined && one !== "" ? passing[key] : inText(one);
  };
  return inside(value, "");
}

// Times and positions are never alike; whether two of them are equal is chance.
const passing: Readonly<Record<string, string>> = {
  creationDate: "<time>",
  changeDate: "<time>",
  expirationDate: "<time>",
  authTime: "<time>",
  lastUsedDate: "<time>",
  consentDate: "<time>",
  verificationDate: "<time>",
  endDate: "<time>",
  erasureDate: "<time>",
  lastSignInDate: "<time>",
  offlineSinceDate: "<time>",
  previousSecretExpirationDate: "<time>",
  date: "<time>",
  time: "<time>",
  retryDelay: "<duration>",
  position: "<position>",
  nextPageToken: "<page token>",
  verificationCode: "<code>",
  requestId: "<request>",
  // Of factors and of sign-ins that are pending.
  challengeToken: "<token>",
  secret: "<secret>",
  uri: "<uri>",
  codes: "<codes>",
  // Of new keys.
  x: "<number>",
  y: "<number>",
};

const patterns: readonly [string, RegExp][] = [
  // Random bytes of 16, 32 and 64, which may look like a secret; no secret is as long.
  ["bytes", /^(?=.*[a-z])(?=.*[A-Z])(?:[\w-]{22}|[\w-]{43}|[\w-]{86})$/g],
  ["secret", /\b[a-z]{2}_[0-9A-Za-z]{33,}\b/g],
  ["secret", /(?<=postern-domain-verification=)[0-9a-f]{32}\b/g],
  ["id", /\b[0-9a-hjkmnp-tv-z]{24}\b/g],
  ["name", /\b(user|machine)\d+-[0-9a-f]{6}\b/g],
  ["name", /\bOrganization \d+ [0-9a-f]{6}\b/g],
  ["name", /\b[0-9a-f]{12}\b/g],
  ["phone", /\+4179\d{7}\b/g],
];
