/** The cookies of the pages: that of the browser, that of its session, and those of all sessions where it has several. */
export type CookieName = "browser" | "session" | "accounts";

/** The most accounts that a browser keeps signed in. */
export const mostAccounts = 8;

const value = /^o[bs]_[0-9A-Za-z]{33}$/;

/**
 * The names and attributes of the cookies of an issuer. Browsers keep a `__Host-` cookie to the very host that set it over TLS; plain
 * http, which an issuer has on a loopback address only, has none.
 */
export function cookieJar(issuer: () => string) {
  const isSecure = () => issuer().startsWith("https:");
  const nameOf = (name: CookieName) => `${isSecure() ? "__Host-" : ""}postern-${name}`;
  const attributes = () => `Path=/; HttpOnly; SameSite=Lax${isSecure() ? "; Secure" : ""}`;
  const jar = {
    /** The value of a cookie in the header of a request; undefined if it is missing, twice there, or no token of ours. */
    read(header: string | undefined, name: CookieName): string | undefined {
      const text = textOf(header, nameOf(name));
      return text !== undefined && value.test(text) ? text : undefined;
    },
    /** The values of the sessions of a browser, the present one first. */
    readSessions(header: string | undefined): readonly string[] {
      const others = (textOf(header, nameOf("accounts")) ?? "")
        .split(".", mostAccounts)
        .filter((one) => value.test(one));
      const present = jar.read(header, "session");
      return [...new Set(present === undefined ? others : [present, ...others])].slice(0, mostAccounts);
    },
    /** The header that sets a cookie until a time, or for as long as the browser runs. */
    set(name: CookieName, text: string, until?: Date): string {
      const expires = until ? `; Expires=${until.toUTCString()}` : "";
      return `${nameOf(name)}=${text}; ${attributes()}${expires}`;
    },
    /** The headers that keep these sessions, the first of them as the present one, in place of those of the values before. */
    setSessions(sessions: readonly CookieOfSession[], before: readonly string[]): readonly string[] {
      const kept = sessions.slice(0, mostAccounts);
      const [present] = kept;
      const session = present
        ? jar.set("session", present.cookie, present.expirationDate)
        : jar.set("session", "", new Date(0));
      if (kept.length > 1)
        return [session, jar.set("accounts", kept.map(({ cookie }) => cookie).join("."), endOf(kept))];
      return before.length === 0 ? [session] : [session, jar.set("accounts", "", new Date(0))];
    },
  };
  return jar;
}

type CookieOfSession = { readonly cookie: string; readonly expirationDate: Date };

const endOf = (sessions: readonly CookieOfSession[]): Date =>
  new Date(Math.max(...sessions.map(({ expirationDate }) => expirationDate.getTime())));

/** The text of a cookie in a header; undefined if it is missing, or twice there. */
function textOf(header: string | undefined, name: string): string | undefined {
  const prefix = `${name}=`;
  const found = (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  return found.length === 1 ? found[0]?.slice(prefix.length) : undefined;
}

/** The cookies of an issuer. */
export type CookieJar = ReturnType<typeof cookieJar>;
