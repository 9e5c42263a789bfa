/**
 * The cookies of the pages: the browser, its session, all sessions where it has several, the users to whom it is known, the code and the
 * sealed link of a mail, and the sealed authorization request that a forgotten password interrupted.
 */
export type CookieName = keyof typeof values;

/** The most accounts that a browser keeps signed in, and to which it is known. */
export const mostAccounts = 8;

const token = /^o[bs]_[0-9A-Za-z]{33}$/;

// A browser keeps some 4,096 bytes of a cookie, its name and attributes included.
const values = {
  browser: token,
  session: token,
  accounts: /^os_[0-9A-Za-z]{33}(?:\.os_[0-9A-Za-z]{33}){1,7}$/,
  known: /^ok_[0-9A-Za-z]{33}(?:\.ok_[0-9A-Za-z]{33}){0,7}$/,
  code: /^[2-9A-Z]{1,40}$/,
  link: /^[\w-]{1,1000}$/,
  request: /^[\w-]{1,3800}$/,
} as const;

/** Whether a value may be that of a cookie. */
export const isCookieValue = (name: CookieName, value: string): boolean => values[name].test(value);

/** A session of a browser as its cookie holds it. */
export type CookieOfSession = { readonly cookie: string; readonly expirationDate: Date };

/**
 * The names and attributes of the cookies of an issuer. Browsers keep a `__Host-` cookie to the very host that set it over TLS; plain
 * http, which an issuer has on a loopback address only, has none.
 */
export function cookieJar(issuer: () => string) {
  const isSecure = () => issuer().startsWith("https:");
  const nameOf = (name: CookieName) => `${isSecure() ? "__Host-" : ""}postern-${name}`;
  const attributes = () => `Path=/; HttpOnly; SameSite=Lax${isSecure() ? "; Secure" : ""}`;
  return { read, readSessions, readKnown, set, clear, setSessions };

  /** The value of a cookie in the header of a request; undefined if it is missing, twice there, or of another form. */
  function read(header: string | undefined, name: CookieName): string | undefined {
    const wanted = `${nameOf(name)}=`;
    const pairs = (header ?? "")
      .split(";")
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(wanted));
    const value = pairs.length === 1 ? pairs[0]?.slice(wanted.length) : undefined;
    return value !== undefined && isCookieValue(name, value) ? value : undefined;
  }

  /** The values of the sessions of a browser, the present one first. */
  function readSessions(header: string | undefined): readonly string[] {
    const present = read(header, "session");
    const others = read(header, "accounts")?.split(".") ?? [];
    return [...new Set(present === undefined ? others : [present, ...others])].slice(0, mostAccounts);
  }

  /** The tokens by which a browser is known to users, the last one first. */
  function readKnown(header: string | undefined): readonly string[] {
    return [...new Set(read(header, "known")?.split("."))];
  }

  /** The header that sets a cookie until a time, or for as long as the browser runs. */
  function set(name: CookieName, value: string, until?: Date): string {
    const expires = until ? `; Expires=${until.toUTCString()}` : "";
    return `${nameOf(name)}=${value}; ${attributes()}${expires}`;
  }

  /** The header that makes the browser forget a cookie. */
  function clear(name: CookieName): string {
    return `${nameOf(name)}=; ${attributes()}; Max-Age=0`;
  }

  /** The headers that keep these sessions, the first of them as the present one, in place of those of the values before. */
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

/** The cookies of an issuer. */
export type CookieJar = ReturnType<typeof cookieJar>;
