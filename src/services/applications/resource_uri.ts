import type { Violation } from "../../errors.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hrefOf, namesOfHost, resourceHolds } from "../callers/resource_in_force.ts";
import { isLoopback } from "./web_origin.ts";

/** Whether a URI can name an API (RFC 8707, 2): https, or http on the machine itself, in normal form, as URIs are compared by bytes. */
export function isResourceUri(uri: string): boolean {
  const isSecure = uri.startsWith("https://") || (uri.startsWith("http://") && isLoopback(uri));
  if (!isSecure || uri.includes("#") || !URL.canParse(uri)) return false;
  const { href, username, password } = new URL(uri);
  return href === hrefOf(uri) && username === "" && password === "";
}

/** Finds resource URIs that cannot name an API, and those that appear twice. */
export function uriViolations(uris: readonly string[], path: string): Violation[] {
  const hrefs = uris.map(hrefOf);
  return uris.flatMap((uri, at): Violation[] => {
    const field = `${path}resourceUris[${at}]`;
    const earlier = hrefs.indexOf(hrefOf(uri));
    const params = { other: `${path}resourceUris[${earlier}]` };
    if (!isResourceUri(uri)) return [{ field, text: "RESOURCE_URI_INVALID", reason: "RESOURCE_URI_INVALID" }];
    return earlier < at ? [{ field, text: "ITEM_REPEATED", params, reason: "REPEATED" }] : [];
  });
}

/** A request for URIs for an application; a new application has no id. */
export type UriWish = {
  readonly owner: string;
  readonly appId: string | undefined;
  readonly uris: readonly string[];
  /** Whether the caller owns the instance, and so may give any URI. */
  readonly isGiver: boolean;
  /** The origin of the issuer, which cannot be anybody else's API. */
  readonly issuer: string | undefined;
  readonly path: string;
};

/** The violations of an application's URIs, and those that an owner of the instance gives. */
export type JudgedUris = { readonly violations: readonly Violation[]; readonly given: string[] };

/** Makes the check of the URIs that an application is to have. It keeps those that it already has, whatever became of their domains. */
export function urisJudged(sql: Sql) {
  const read = uriRead(sql);
  return async (wish: UriWish, signal: AbortSignal): Promise<JudgedUris> => {
    const found = await Promise.all(
      wish.uris.map((uri) => read({ owner: wish.owner, app: wish.appId ?? "", ...lookupOf(uri) }, signal)),
    );
    const judged = wish.uris.map((uri, at) => ({ uri, ...judgedUri(wish, uri, found[at]) }));
    return {
      violations: judged.flatMap(({ fault }, at) =>
        fault ? [violation(fault, `${wish.path}resourceUris[${at}]`)] : [],
      ),
      given: judged.flatMap(({ uri, isGiven }) => (isGiven ? [uri] : [])),
    };
  };
}

type Fault = "RESOURCE_URI_ISSUER" | "RESOURCE_URI_TAKEN" | "RESOURCE_URI_HOST";

const violation = (fault: Fault, field: string): Violation => ({ field, text: fault, reason: fault });

function judgedUri({ isGiver, issuer }: UriWish, uri: string, found: FoundUri | undefined): JudgedUri {
  const { isTaken = false, isHeld = false, isOwnDomain = false, isGiven = false } = found ?? {};
  if (isHeld) return { isGiven: isGiven || (isGiver && !isOwnDomain && !isTaken) };
  if (new URL(uri).origin === issuer) return { fault: "RESOURCE_URI_ISSUER", isGiven };
  // Whoever may not have the host does not learn what others have there.
  if (!isOwnDomain && !isGiver) return { fault: "RESOURCE_URI_HOST", isGiven };
  if (isTaken) return { fault: "RESOURCE_URI_TAKEN", isGiven };
  return { isGiven: !isOwnDomain };
}

type JudgedUri = { readonly fault?: Fault; readonly isGiven: boolean };

/** The state that decides about a URI. */
type FoundUri = {
  /** Whether another application has it, in the same organization or, if in force, in another one. */
  readonly isTaken: boolean;
  /** Whether the application itself has it. */
  readonly isHeld: boolean;
  /** Whether its host belongs to a domain of the organization. */
  readonly isOwnDomain: boolean;
  /** Whether the application has it from an owner of the instance. */
  readonly isGiven: boolean;
};

const lookupOf = (uri: string) => ({ href: hrefOf(uri), names: namesOfHost(uri) });

const uriRead = (sql: Sql) =>
  loadOne<{ owner: string; app: string; href: string; names: readonly string[] }, FoundUri>(sql, {
    asked: "owner text, app text, href text, names text[]",
    select: `select n,
        exists (select from resource_uris r where r.href = asked.href and r.app_id <> asked.app
          and (r.owner = asked.owner or ${resourceHolds}) offset 0) as "isTaken",
        exists (select from resource_uris r where r.href = asked.href and r.app_id = asked.app offset 0) as "isHeld",
        exists (select from resource_uris r where r.href = asked.href and r.app_id = asked.app and r.given offset 0) as "isGiven",
        asked.owner = (select d.owner from domains d where d.name = any(asked.names) and d.proven
          order by length(d.name) desc limit 1) as "isOwnDomain"
      from asked`,
  });
