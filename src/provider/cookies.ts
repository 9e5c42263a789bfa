/**
 * The cookies of the pages: the browser, its session, the code and the sealed link of a mail, and the sealed authorization request that
 * a forgotten password interrupted.
 */
export type CookieName = keyof typeof values;

const token = /^o[bs]_[0-9A-Za-z]{33}$/;

// A browser keeps some 4,096 bytes of a cookie, its name and attributes included.
const values = {
  browser: token,
  session: token,
  code: /^[2-9A-Z]{1,40}$/,
  link: /^[\w-]{1,1000}$/,
  request: /^[\w-]{1,3800}$/,
} as const;

/** Whether a value may be that of a cookie. */
export const isCookieValue = (name: CookieName, value: string): boolean => values[name].test(value);

/**
 * The names and attributes of the cookies of an issuer. Browsers keep a `__Host-` cookie to the very host that set it over TLS; plain
 * http, which an issuer has on a loopback address only, has none.
 */
export function cookieJar(issuer: () => string) {
  const isSecure = () => issuer().startsWith("https:");
  const nameOf = (name: CookieName) => `${isSecure() ? "__Host-" : ""}postern-${name}`;
  const attributes = () => `Path=/; HttpOnly; SameSite=Lax${isSecure() ? "; Secure" : ""}`;
  return {
    /** The value of a cookie in the header of a request; undefined if it is missing, twice there, or of another form. */
    read(header: string | undefined, name: CookieName): string | undefined {
      const wanted = `${nameOf(name)}=`;
      const pairs = (header ?? "")
        .split(";")
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(wanted));
      const value = pairs.length === 1 ? pairs[0]?.slice(wanted.length) : undefined;
      return value !== undefined && isCookieValue(name, value) ? value : undefined;
    },
    /** The header that sets a cookie until a time, or for as long as the browser runs. */
    set(name: CookieName, value: string, until?: Date): string {
      const expires = until ? `; Expires=${until.toUTCString()}` : "";
      return `${nameOf(name)}=${value}; ${attributes()}${expires}`;
    },
    /** The header that makes the browser forget a cookie. */
    clear(name: CookieName): string {
      return `${nameOf(name)}=; ${attributes()}; Max-Age=0`;
    },
  };
}

/** The cookies of an issuer. */
export type CookieJar = ReturnType<typeof cookieJar>;
