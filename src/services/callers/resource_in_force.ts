/** A resource URI in the form in which it is compared: an origin alone means its root (RFC 3986, 6.2.3), and libraries write either. */
export const hrefOf = (uri: string): string => (/^https?:\/\/[^/?#]+$/.test(uri) ? `${uri}/` : uri);

/** The domains that the host of a URI may belong to: its own name, and each parent domain. */
export function namesOfHost(uri: string): readonly string[] {
  const labels = new URL(uri).hostname.split(".");
  return labels.map((_, at) => labels.slice(at).join("."));
}

/**
 * The SQL condition that the resource URI `r` belongs to its organization: an owner of the instance gave it, or the nearest domain above
 * its host is proven to be the organization's. An organization that loses the domain loses the URI.
 */
export const resourceHolds = `(r.given or (
          r.owner = (select d.owner from domains d where d.name = any(r.names) and d.proven
            order by length(d.name) desc limit 1)
          and not exists (select from resource_uris g where g.href = r.href and g.given offset 0)))`;
