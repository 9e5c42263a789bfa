/** Adds parameters to the query of a URI, whatever its scheme; a fragment, which URIs after sign-out may have, stays behind it. */
export function withQuery(uri: string, parameters: URLSearchParams): string {
  const [, base = uri, fragment = ""] = /^([^#]*)(#.*)?$/s.exec(uri) ?? [];
  const separator = base.includes("?") ? (/[?&]$/.test(base) ? "" : "&") : "?";
  return `${base}${separator}${parameters}${fragment}`;
}

/**
 * The source of a content security policy that lets a form lead to a URI: the scheme of an app. Web sites need none, since no form leads
 * to one: Chromium would hold what they redirect to against the policy as well, and nobody knows that beforehand.
 */
export function formActionOf(uri: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(uri)?.[0].toLowerCase() ?? "";
  return isWebUri(uri) ? "" : scheme;
}

/** Whether a URI is that of a web site; others open an app, or are paths of ours. */
export const isWebUri = (uri: string): boolean => /^https?:/i.test(uri);
