/** The path and query of a request, both still encoded, the query without its question mark. */
export type Target = { readonly path: string; readonly query: string };

/** Splits a request target; undefined if it has no path. */
export function splitTarget(target: string): Target | undefined {
  const local = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "");
  if (!local.startsWith("/")) return undefined;
  const [whole = ""] = local.includes("#") ? local.split("#", 1) : [local];
  const at = whole.indexOf("?");
  return at < 0 ? { path: whole, query: "" } : { path: whole.slice(0, at), query: whole.slice(at + 1) };
}

/** Whether a text is a valid authority. */
// The characters are checked first, because `new URL` accepts more, here and in libraries.
export function isAuthority(authority: string): boolean {
  const hasValidCharacters = /^(\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(:\d{1,5})?$/.test(authority);
  return hasValidCharacters && URL.canParse(`http://${authority}`);
}

/** Returns `isAuthority` with the last valid authority cached, because most clients send the same. */
export function authorityCheck(): (authority: string | undefined) => boolean {
  let last: string | undefined;
  return (authority) => {
    if (authority === undefined) return false;
    if (authority === last) return true;
    const isValid = isAuthority(authority);
    if (isValid) last = authority;
    return isValid;
  };
}
