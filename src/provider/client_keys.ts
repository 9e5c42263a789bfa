import type { JWK } from "jose";
import { jwkFaults } from "../security/jwk.ts";
import type { Client } from "./client.ts";
import type { FetchText } from "./fetcher.ts";

/** The public keys of a client: its own, or those at its URI. Read again where none has the name that is asked for. */
export type ClientKeys = (client: Client, kid: string | undefined) => Promise<readonly JWK[]>;

const freshMs = 300_000;
const restMs = 30_000;
const mostSets = 1_000;
const mostKeys = 100;

type KeySet = { readonly readAt: number; readonly keys: Promise<readonly JWK[]> };

/** Makes the reader of clients' keys. A URI is called twice a minute at most, whoever asks. */
export function clientKeys(fetchText: FetchText): ClientKeys {
  const known = new Map<string, KeySet>();

  return async ({ keys }, kid) => {
    const own = keys.flatMap(({ jwk }) => (jwk ? [jwk as unknown as JWK] : []));
    const uri = keys.find(({ jwksUri }) => jwksUri !== null)?.jwksUri;
    return uri ? keysAt(uri, kid) : own;
  };

  async function keysAt(uri: string, kid: string | undefined): Promise<readonly JWK[]> {
    const before = known.get(uri);
    const age = before ? performance.now() - before.readAt : Number.POSITIVE_INFINITY;
    if (before && age < restMs) return before.keys;
    if (before && age < freshMs && has(await before.keys, kid)) return before.keys;
    if (known.size >= mostSets) known.clear();
    const keys = read(uri);
    known.set(uri, { readAt: performance.now(), keys });
    return keys;
  }

  async function read(uri: string): Promise<readonly JWK[]> {
    return fetchText(uri).then(keysIn, () => []);
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
