/**
 * The cookies of the pages: the browser, its session, all its sessions if it has several, the users it is known to, its language, the code
 * and the sealed link of a mail, the code of an administrator's link, the code of a mail to sign in and the token of the sign-in that waits
 * for it, the codes of an invitation and of a registration, and the sealed authorization request that a password reset, a registration or a
 * mailed code interrupted.
 */
export type CookieName = keyof typeof values;

/** The maximum number of accounts that a browser keeps signed in, and of users it is known to. */
export const mostAccounts = 8;

const token = /^o[bs]_[0-9A-Za-z]{33}$/;

// Browsers keep about 4,096 bytes of a cookie, including its name and attributes.
const values = {
  browser: token,
  session: token,
  accounts: /^os_[0-9A-Za-z]{33}(?:\.os_[0-9A-Za-z]{33}){1,7}$/,
  known: /^ok_[0-9A-Za-z]{33}(?:\.ok_[0-9A-Za-z]{33}){0,7}$/,
  language: /^[a-z]{2}$/,
  code: /^[2-9A-Z]{1,40}$/,
  invitation: /^[2-9A-Z]{1,40}$/,
  registration: /^[2-9A-Z]{1,40}$/,
  administrator: /^[2-9A-Z]{1,40}$/,
  link: /^[\w-]{1,1000}$/,
  mailed: /^[2-9A-Z]{1,40}$/,
  challenge: /^[\w-]{1,400}$/,
  request: /^[\w-]{1,3800}$/,
} as const;

export const isCookieValue = (name: CookieName, value: string): boolean => values[name].test(value);

export type CookieOfSession = { readonly cookie: string; readonly expirationDate: Date };

/**
 * The names and attributes of an issuer's cookies. Browsers return a `__Host-` cookie only to the exact host that set it over TLS. Plain
 * http, which an issuer may use only on a loopback address, does without the prefix.
 */
export function cookieJar(issuer: () => string) {
  const isSecure = () => issuer().startsWith("https:");
  const nameOf = (name: CookieName) => `${isSecure() ? "__Host-" : ""}postern-${name}`;
  const attributes = () => `Path=/; HttpOnly; SameSite=Lax${isSecure() ? "; Secure" : ""}`;
  return { read, readSessions, readKnown, set, clear, setSessions };

  /** The value of a cookie in a request header; undefined if it is missing, repeated or malformed. */
  function read(header: string | undefined, name: CookieName): string | undefined {
    const wanted = `${nameOf(name)}=`;
    const pairs = (header ?? "")
      .split(";")
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(wanted));
    const value = pairs.length === 1 ? pairs[0]?.slice(wanted.length) : undefined;
    return value !== undefined && isCookieValue(name, value) ? value : undefined;
  }

  /** The values of the browser's sessions, the current one first. */
  function readSessions(header: string | undefined): readonly string[] {
    const present = read(header, "session");
    const others = read(header, "accounts")?.split(".") ?? [];
    return [...new Set(present === undefined ? others : [present, ...others])].slice(0, mostAccounts);
  }

  /** The tokens by which the browser is known to users, the latest first. */
  function readKnown(header: string | undefined): readonly string[] {
    return [...new Set(read(header, "known")?.split("."))];
  }

  /** The header that sets a cookie until a given time, or until the browser is closed. */
  function set(name: CookieName, value: string, until?: Date): string {
    const expires = until ? `; Expires=${until.toUTCString()}` : "";
    return `${nameOf(name)}=${value}; ${attributes()}${expires}`;
  }

  function clear(name: CookieName): string {
    return `${nameOf(name)}=; ${attributes()}; Max-Age=0`;
  }

  /** The headers that store these sessions, the first as the current one, replacing the earlier values. */
  function setSessions(sessions: readonly CookieOfSession[], before: readonly string[]): readonly string[] {
    const kept = sessions.slice(0, mostAccounts);
    const [present] = kept;
    const session = present ? set("session", present.cookie, present.expirationDate) : clear("session");
    if (kept.length > 1) return [session, set("accounts", kept.map(({ cookie }) => cookie).join("."), endOf(kept))];
    return before.length > 1 ? [session, clear("accounts")] : [session];
  }
}

const endOf = (sessions: readonly CookieOfSession[]): Date =>
  new Date(Math.max(...sessions.map(({ expirationDate }) => expirationDate.getTime())));

export type CookieJar = ReturnType<typeof cookieJar>;
