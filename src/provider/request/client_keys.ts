import type { JWK } from "jose";
import { jwkFaults } from "../../security/jwk.ts";
import { placesFor } from "../../security/places.ts";
import { type FetchText, outwardTimeoutMs } from "../http/fetcher.ts";
import type { Client } from "./client.ts";

/** The public keys of a client: its own, or those at its URI, which are read again if none has the requested id. */
export type ClientKeys = (client: Client, kid: string | undefined) => Promise<readonly JWK[]>;

const freshMs = 300_000;
const restMs = 30_000;
/** How long keys remain valid if their URI cannot be read again. */
const longestMs = 3_600_000;
const mostSets = 1_000;
const mostKeys = 100;
const mostAtOnce = 32;

type Fetched = () => Promise<string>;

type KeySet = {
  readonly startedAt: number;
  /** The time of the reading of these keys; earlier than the last attempt if that one failed. */
  readonly keys: Promise<{ readonly readAt: number; readonly list: readonly JWK[] }>;
};

/**
 * Makes the reader of clients' keys. It calls a URI at most twice a minute, however many callers ask, and few URIs at once: the
 * applications of one organization leave places to others, even if none of their hosts ever answers.
 */
export function clientKeys(fetchText: FetchText, now: () => number = () => performance.now()): ClientKeys {
  const known = new Map<string, KeySet>();
  const inPlace = placesFor({ limit: mostAtOnce, waitMs: outwardTimeoutMs });

  return async ({ keys, owner }, kid) => {
    const own = keys.flatMap(({ jwk }) => (jwk ? [jwk as unknown as JWK] : []));
    const uri = keys.find(({ jwksUri }) => jwksUri !== null)?.jwksUri;
    return uri ? keysAt(uri, kid, owner) : own;
  };

  async function keysAt(uri: string, kid: string | undefined, owner: string): Promise<readonly JWK[]> {
    const fetched = () => inPlace(() => fetchText(uri), { shares: [[owner, ""]] });
    const before = known.get(uri);
    if (!before) return begin(uri, undefined, fetched);
    const { list } = await before.keys;
    // Of the callers that waited together, the first reads again.
    const latest = known.get(uri) ?? before;
    const age = now() - latest.startedAt;
    if (latest !== before || age < restMs) return (await latest.keys).list;
    return age < freshMs && has(list, kid) ? list : begin(uri, before, fetched);
  }

  async function begin(uri: string, before: KeySet | undefined, fetched: Fetched): Promise<readonly JWK[]> {
    const [startedAt, keys] = [now(), read(before, fetched)];
    // Kept in the order of reading, so that the oldest entry is evicted.
    known.delete(uri);
    const [oldest] = known.keys();
    if (known.size >= mostSets && oldest !== undefined) known.delete(oldest);
    known.set(uri, { startedAt, keys });
    return (await keys).list;
  }

  async function read(before: KeySet | undefined, fetched: Fetched): KeySet["keys"] {
    const readAt = now();
    const list = await fetched().then(keysIn, () => undefined);
    if (list) return { readAt, list };
    const last = await before?.keys;
    return last && now() - last.readAt < longestMs ? last : { readAt, list: [] };
  }
}

const has = (keys: readonly JWK[], kid: string | undefined): boolean =>
  kid === undefined ? keys.length > 0 : keys.some((key) => key.kid === kid);

/** The usable public keys of a key set (RFC 7517, 5); others are ignored. */
function keysIn(text: string): readonly JWK[] {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown };
    return Array.isArray(keys) ? keys.slice(0, mostKeys).flatMap(publicKeyIn) : [];
  } catch {
    return [];
  }
}

function publicKeyIn(key: unknown): JWK[] {
  const { kty, kid, alg, use, n, e, crv, x, y } = (key ?? {}) as Readonly<Record<string, unknown>>;
  const members = Object.entries({ kty, kid, alg, n, e, crv, x, y }).filter(([, value]) => value !== undefined);
  if (use === "enc" || typeof kty !== "string" || members.some(([, value]) => typeof value !== "string")) return [];
  const jwk = Object.fromEntries(members) as JWK & { kty: string };
  return jwkFaults(jwk as Parameters<typeof jwkFaults>[0]).length === 0 ? [jwk] : [];
}
