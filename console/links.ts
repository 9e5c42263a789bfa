import { organizationId } from "./calls/organization.ts";
import { me } from "./sign_in/me.ts";

/** The path of a page. It names the organization that the page works in, unless that is the user's own. */
export function linkTo(parts: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const { org = organizationId.value, ...others } = query;
  const own = me.value?.organization?.id;
  const said = Object.entries({ org: org === own ? undefined : org, ...others }).filter(([, value]) => value);
  const path = ["/console", ...parts.map(segment)].join("/");
  return `${path}${parts.length === 0 ? "/" : ""}${said.length > 0 ? `?${new URLSearchParams(said as string[][])}` : ""}`;
}

/** A path with a dot is that of a file. */
const segment = (part: string): string => encodeURIComponent(part).replaceAll(".", "%2E");
