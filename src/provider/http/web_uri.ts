/** Adds parameters to the query of a URI, whatever its scheme. A fragment, which URIs after sign-out may have, stays at the end. */
export function withQuery(uri: string, parameters: URLSearchParams): string {
  const [, base = uri, fragment = ""] = /^([^#]*)(#.*)?$/s.exec(uri) ?? [];
  const separator = base.includes("?") ? (/[?&]$/.test(base) ? "" : "&") : "?";
  return `${base}${separator}${parameters}${fragment}`;
}

/**
 * The content security policy source that lets a form lead to a URI: an app's scheme. Web sites need none, because no form leads to one
 * directly: Chromium also checks what they redirect to against the policy, and nobody knows that in advance.
 */
export function formActionOf(uri: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(uri)?.[0].toLowerCase() ?? "";
  return isWebUri(uri) ? "" : scheme;
}

/** Whether a URI belongs to a web site; others open an app, or are paths of ours. */
export const isWebUri = (uri: string): boolean => /^https?:/i.test(uri);
