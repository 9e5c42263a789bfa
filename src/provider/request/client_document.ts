import type { IncomingHttpHeaders } from "node:http";
import type { RequestProblem } from "../../messages/request_problem.ts";
import { NoPlace, placesFor } from "../../security/places.ts";
import { rateLimit } from "../../security/rate_limit.ts";
import { type FetchDocument, type FetchSettings, outwardDocuments, outwardTimeoutMs } from "../http/fetcher.ts";
import { MalformedRequest } from "../http/oauth_error.ts";
import { PageError } from "../pages/page_error.ts";
import { type DocumentSettings, hostOf, nameOfHost } from "./document_id.ts";
import { isLoopbackUri } from "./redirect_uri.ts";

/** The members of a client's document that we use. */
export type ClientDocument = {
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
} & Readonly<Record<Switch, boolean>>;

/** The demands that a document can make, by the names in our own configuration. */
type Switch = "dpopBoundAccessTokens" | "requirePushedAuthorizationRequests";

/** Reads the document at a URL for somebody in a network; fails with a page if there is none that can be used. */
export type ReadDocument = (
  url: string,
  network: string | undefined,
  isClient: () => Promise<boolean>,
) => Promise<ClientDocument>;

/** The largest document (OAuth Client ID Metadata Document, 6.6). */
const documentMaxBytes = 5_120;
const leastFreshSeconds = 60;
const usualFreshSeconds = 300;
const mostFreshSeconds = 86_400;
const failedSeconds = 60;
const mostKept = 1_000;
const mostAtOnce = 32;
const mostUris = 20;
const longestUri = 1_000;

/** The maximum numbers of documents read in a minute for callers of one network, and at one host; known documents are not counted. */
export type DocumentLimits = {
  readonly clientDocumentsPerAddressPerMinute: number;
  readonly clientDocumentsPerHostPerMinute: number;
};

/** Makes the function that fetches documents: from listed hosts, and from all others only at a public address. */
export function documentFetch(settings: DocumentSettings & FetchSettings): FetchDocument {
  const ofListed = outwardDocuments(settings, documentMaxBytes);
  const ofAnybody = outwardDocuments({ ...settings, outgoingPrivateNetworks: [] }, documentMaxBytes);
  return (url) => (settings.clientDocumentHosts.includes(hostOf(url)) ? ofListed : ofAnybody)(url);
}

/** A document, or what is wrong with it. */
type Outcome = ClientDocument | { readonly problem: RequestProblem };

/** The last reading, and until when it is valid: always, while it is under way. */
type Kept = { until: number; isUsable: boolean; readonly outcome: Promise<Outcome> };

type Read = { readonly outcome: Outcome; readonly seconds: number };

/**
 * Makes the reader of clients' documents. It keeps them as long as their headers say, but at least a minute and at most a day, and failures
 * for a minute. Anybody can name a URL, so only known documents are read again without being counted.
 */
export function clientDocuments(
  fetch: FetchDocument,
  limits: DocumentLimits,
  now: () => number = () => performance.now(),
): ReadDocument {
  // Kept apart, so that failures, of which anybody can cause a thousand, evict no document that can be used.
  const [usable, others] = [new Map<string, Kept>(), new Map<string, Kept>()];
  const isOver = manyRefused(limits, now);
  const inPlace = placesFor({ limit: mostAtOnce, waitMs: outwardTimeoutMs });

  return async (url, network, isClient) => {
    const isKnown = usable.has(url) || standing(url) !== undefined;
    // The database is asked only over a limit: a client that users have allowed is known even if others have evicted its document.
    if (!isKnown && isOver(url, network) && !(await isClient())) throw new PageError("busy", {}, { status: 429 });
    const entry = standing(url) ?? begin(url, network);
    const outcome = await entry.outcome;
    if ("problem" in outcome) throw new MalformedRequest(outcome.problem);
    return outcome;
  };

  function standing(url: string): Kept | undefined {
    const last = usable.get(url) ?? others.get(url);
    return last && now() < last.until ? last : undefined;
  }

  function begin(url: string, network: string | undefined): Kept {
    const reading = read(url, network).then(({ outcome, seconds }) => {
      entry.until = now() + seconds * 1000;
      // A document that was not fetched tells nothing new about itself: it stays as known as before.
      if (seconds > 0) entry.isUsable = !("problem" in outcome);
      keep(url, entry);
      return outcome;
    });
    const entry: Kept = { until: Number.POSITIVE_INFINITY, isUsable: usable.has(url), outcome: reading };
    keep(url, entry);
    return entry;
  }

  /** Keeps a reading as the latest one; the oldest one of its kind is evicted. */
  function keep(url: string, entry: Kept): void {
    for (const kept of [usable, others]) kept.delete(url);
    const kept = entry.isUsable ? usable : others;
    const [oldest] = kept.keys();
    if (kept.size >= mostKept && oldest !== undefined) kept.delete(oldest);
    kept.set(url, entry);
  }

  async function read(url: string, network = ""): Promise<Read> {
    try {
      const { text, headers } = await inPlace(() => fetch(url), { shares: [[network, nameOfHost(url)]] });
      const outcome = documentIn(text, url);
      return { outcome, seconds: "problem" in outcome ? failedSeconds : freshSeconds(headers) };
    } catch (error) {
      return { outcome: unread, seconds: error instanceof NoPlace ? 0 : failedSeconds };
    }
  }
}

// The same for all failures, so that nobody learns from us what there is at an address.
const unread: Outcome = {
  problem: {
    key: "document_unread",
    params: { kilobytes: String(documentMaxBytes / 1_024), seconds: String(outwardTimeoutMs / 1_000) },
  },
};

/** Makes the check that refuses documents not read before, once there have been too many of them. */
function manyRefused(limits: DocumentLimits, now: () => number) {
  const networks = rateLimit({ perMinute: limits.clientDocumentsPerAddressPerMinute });
  const hosts = rateLimit({ perMinute: limits.clientDocumentsPerHostPerMinute });
  return (url: string, network: string | undefined): boolean =>
    (network !== undefined && networks.take(network, now()) < 0) || hosts.take(nameOfHost(url), now()) < 0;
}

/** How long a document may be kept (RFC 9111, 4.2.1), within bounds. */
function freshSeconds({ "cache-control": control = "", age = "0", expires, date }: IncomingHttpHeaders): number {
  const most = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(control)?.[1];
  const until = (Date.parse(expires ?? "") - Date.parse(date ?? "")) / 1000;
  const stated = /no-(?:store|cache)/i.test(control) ? 0 : most === undefined ? until : Number(most) - Number(age);
  const seconds = Number.isNaN(stated) ? usualFreshSeconds : stated;
  return Math.min(Math.max(seconds, leastFreshSeconds), mostFreshSeconds);
}

function documentIn(text: string, url: string): Outcome {
  const members = objectIn(text);
  if (!members) return { problem: { key: "document_shape" } };
  const { client_id, redirect_uris, post_logout_redirect_uris = [] } = members;
  const { token_endpoint_auth_method: method = "none" } = members;
  if (client_id !== url) return { problem: { key: "document_name" } };
  // 4.1: everybody can read it. A client that wants to prove itself by keys is not treated as one that cannot.
  if (method !== "none" || "client_secret" in members) return { problem: { key: "document_method" } };
  if (!isListOfUris(redirect_uris) || redirect_uris.length === 0) return notUris("redirect_uris");
  if (!isListOfUris(post_logout_redirect_uris)) return notUris("post_logout_redirect_uris");
  const problem = demandProblem(members);
  if (problem !== undefined) return { problem };
  const own = (uris: readonly string[]) => uris.filter((uri) => isOfDocument(uri, url));
  return {
    redirectUris: own(redirect_uris),
    postLogoutRedirectUris: own(post_logout_redirect_uris),
    dpopBoundAccessTokens: members.dpop_bound_access_tokens === true,
    requirePushedAuthorizationRequests: members.require_pushed_authorization_requests === true,
  };
}

const notUris = (name: string): Outcome => ({
  problem: { key: "document_uris", params: { name, count: String(mostUris) } },
});

/** The demands that a client can make of us for its own safety: RFC 9449, 5.2; RFC 9126, 6. */
const met: readonly string[] = ["dpop_bound_access_tokens", "require_pushed_authorization_requests"];
/** The demands that we cannot meet: RFC 9101, 10.5; RFC 8705, 3.4. */
const unmet: readonly string[] = ["require_signed_request_object", "tls_client_certificate_bound_access_tokens"];

/** What is wrong with the demands of a document. A client that is less safe than it believes is not let in. */
function demandProblem(members: Readonly<Record<string, unknown>>): RequestProblem | undefined {
  const odd = [...met, ...unmet].find((name) => typeof (members[name] ?? false) !== "boolean");
  if (odd !== undefined) return { key: "document_switch", params: { name: odd } };
  const demanded = unmet.find((name) => members[name] === true);
  return demanded === undefined ? undefined : { key: "document_demand", params: { name: demanded } };
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

const isListOfUris = (uris: unknown): uris is readonly string[] =>
  Array.isArray(uris) &&
  uris.length <= mostUris &&
  uris.every((uri) => typeof uri === "string" && uri.length <= longestUri);

/** Whether users may be sent to a URI of a document: one of its own origin, or a program on the user's computer. */
const isOfDocument = (uri: string, url: string): boolean =>
  URL.canParse(uri) && (uri.startsWith(`${new URL(url).origin}/`) || isLoopbackUri(uri));
