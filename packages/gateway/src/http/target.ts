/** The target of a request, taken apart; both still encoded, the query without its question mark. */
export type Target = { readonly path: string; readonly query: string };

/** The path and the query of a target; undefined when it has no path. */
export function split(target: string): Target | undefined {
  const local = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "");
  if (!local.startsWith("/")) return undefined;
  const [whole = ""] = local.includes("#") ? local.split("#", 1) : [local];
  const at = whole.indexOf("?");
  return at < 0 ? { path: whole, query: "" } : { path: whole.slice(0, at), query: whole.slice(at + 1) };
}

/** Whether an authority can be one. */
// Checked by its characters first: what follows here, and in libraries, makes URLs of it.
export function isAuthority(authority: string): boolean {
  const known = /^(\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(:\d{1,5})?$/.test(authority);
  return known && URL.canParse(`http://${authority}`);
}

/** The same, for one request after the other; the last authority is remembered, as most clients send the same. */
export function authorityCheck(): (authority: string | undefined) => boolean {
  let last: string | undefined;
  return (authority) => {
    if (authority === undefined) return false;
    if (authority === last) return true;
    const isSound = isAuthority(authority);
    if (isSound) last = authority;
    return isSound;
  };
}
