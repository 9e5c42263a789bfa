/** A resource URI as it is compared: an origin alone means its root (RFC 3986, 6.2.3), as libraries write it with either. */
export const hrefOf = (uri: string): string => (/^https?:\/\/[^/?#]+$/.test(uri) ? `${uri}/` : uri);

/** The domains that the host of a URI may belong to: its own name, and each one above. */
export function namesOfHost(uri: string): readonly string[] {
  const labels = new URL(uri).hostname.split(".");
  return labels.map((_, at) => labels.slice(at).join("."));
}

/**
 * The SQL condition that the resource URI `r` is its organization's: an owner of the instance gave it, or the nearest domain above its
 * host is proven to be the organization's. With the domain, the URI is lost.
 */
export const resourceHolds = `(r.given or (
          r.owner = (select d.owner from domains d where d.name = any(r.names) and d.proven
            order by length(d.name) desc limit 1)
          and not exists (select from resource_uris g where g.href = r.href and g.given offset 0)))`;
