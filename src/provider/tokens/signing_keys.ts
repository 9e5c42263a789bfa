import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import { type Deps, systemCall } from "../../deps.ts";
import { factOf, first } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { lostRace } from "../../events/log.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type Keyring, SealBroken } from "../../security/seal.ts";

export const algorithms = ["RS256", "ES256"] as const;

export type Algorithm = (typeof algorithms)[number];

/** A private key with its key id. */
export type Signer = { readonly kid: string; readonly algorithm: Algorithm; readonly key: CryptoKey };

/** The keys that sign tokens, the same on all nodes. */
export type SigningKeys = {
  /** The public keys, including those of tokens signed before the last rotation. */
  readonly published: () => Promise<readonly JWK[]>;
  /** The current signing key; created if there is none. */
  readonly signer: (algorithm: Algorithm) => Promise<Signer>;
  /**
   * Creates the next key for each algorithm whose key is old, and re-seals all keys after a rotation of the master key; returns how many.
   */
  readonly rotate: () => Promise<number>;
  /** Creates the next key for each algorithm that has none yet, however old its signing key is; returns the next keys. */
  readonly renew: () => Promise<readonly NextKey[]>;
  /** Creates a key for each algorithm that signs immediately, and withdraws all others: tokens that they signed are refused. */
  readonly withdraw: () => Promise<readonly NextKey[]>;
  /** Reads the keys again when they are next needed, because another node or a command has changed them. */
  readonly forget: () => void;
};

/** A key that signs next, and those withdrawn in its favour. */
export type NextKey = {
  readonly algorithm: Algorithm;
  readonly kid: string;
  readonly signsFrom: Date;
  readonly withdrawn: readonly string[];
};

type KeyRow = {
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly version: bigint;
  readonly publicKey: JsonObject;
  readonly sealed: Uint8Array;
  readonly signsFrom: Date;
  readonly isWithdrawn: boolean;
};

const dayMs = 86_400_000;
const refreshMs = 30_000;
/** How many times to create and read keys again if another node wins. */
const mostTries = 5;
/** How long a key is published before it signs: as long as clients may cache keys. */
const leadMs = dayMs;
/** How long a key signs. */
const signingMs = 90 * dayMs;
/** How long a key is published after it last signed: ID tokens serve as hints long after they expire. */
const retentionMs = 90 * dayMs;

type KeyDeps = Pick<Deps, "log" | "sql" | "clock" | "ids" | "secrets"> & { readonly instanceId: string };

/** Opens the keys, which are re-read from the database every half minute. */
export function signingKeys(deps: KeyDeps): SigningKeys {
  const { sql, clock, secrets } = deps;
  const { ready, forget } = knownKeys(deps);
  const opened = new Map<string, Promise<CryptoKey>>();

  return {
    published: async () => publishedOf(await ready(), clock()),
    async signer(algorithm) {
      for (let tries = 0; tries < mostTries; tries++) {
        const rows = await ready();
        const row = signerOf(rows, algorithm, clock());
        if (!row) throw new Error(`there is no key of ${algorithm}`);
        const key = await privateKeyOf(row).catch(whenLost);
        if (key) return { kid: row.kid, algorithm, key };
        // The master key that sealed it is gone. Another key signs from now on, and the service keeps running.
        await add(deps, { algorithm, rows, signsFrom: clock() });
        forget();
      }
      throw new Error(`no key of ${algorithm} can be opened`);
    },
    async rotate() {
      const rows = await readKeys(sql);
      const old = rows.filter(({ sealed }) => !secrets.keyring.isCurrent(sealed));
      for (const row of old) await sealAnew(deps, row).catch(whenLost);
      const due = algorithms.filter((algorithm) => isDue(rows, algorithm, clock()));
      const signsFrom = new Date(clock().getTime() + leadMs);
      for (const algorithm of due) await add(deps, { algorithm, rows, signsFrom });
      return old.length + due.length;
    },
    renew: () => allOf(deps, renewed).finally(forget),
    withdraw: () => allOf(deps, replaced).finally(forget),
    forget,
  };

  function privateKeyOf(row: KeyRow): Promise<CryptoKey> {
    const before = opened.get(row.kid);
    if (before) return before;
    const key = openKey(secrets.keyring, row);
    opened.set(row.kid, key);
    return key;
  }
}

/** The keys as last read; creates them if there are none. */
function knownKeys(deps: KeyDeps) {
  let known: Promise<readonly KeyRow[]> | undefined;
  let readAt = 0;
  return { ready, forget };

  async function ready(): Promise<readonly KeyRow[]> {
    for (let tries = 0; tries < mostTries; tries++) {
      const rows = await current();
      const missing = algorithms.filter((algorithm) => !rows.some((row) => row.algorithm === algorithm));
      if (missing.length === 0) return rows;
      // The first key can sign immediately: no client has cached keys yet.
      for (const algorithm of missing) await add(deps, { algorithm, rows, signsFrom: deps.clock() });
      forget();
    }
    throw new Error("the keys that sign tokens cannot be made");
  }

  function current(): Promise<readonly KeyRow[]> {
    if (known && performance.now() - readAt < refreshMs) return known;
    readAt = performance.now();
    const before = known;
    const reading = readKeys(deps.sql);
    // While the database is unavailable, the earlier keys are returned.
    known = before ? reading.catch(() => before) : reading;
    known.catch(forget);
    return known;
  }

  function forget(): void {
    known = undefined;
  }
}

type Change = (deps: KeyDeps, rows: readonly KeyRow[], algorithm: Algorithm) => Promise<NextKey | undefined>;

/** Applies a change to every algorithm, and again if another node was first. */
async function allOf(deps: KeyDeps, change: Change): Promise<readonly NextKey[]> {
  const next: NextKey[] = [];
  for (const algorithm of algorithms)
    for (let made: NextKey | undefined; !made; ) {
      made = await change(deps, await readKeys(deps.sql), algorithm);
      if (made) next.push(made);
    }
  return next;
}

const renewed: Change = async (deps, rows, algorithm) => {
  const { clock } = deps;
  const last = lastOf(rows, algorithm);
  if (last && last.signsFrom > clock()) return { ...last, withdrawn: [] };
  const signsFrom = last ? new Date(clock().getTime() + leadMs) : clock();
  const kid = await add(deps, { algorithm, rows, signsFrom });
  return kid === undefined ? undefined : { algorithm, kid, signsFrom, withdrawn: [] };
};

const replaced: Change = async (deps, rows, algorithm) => {
  const others = rows.filter((row) => row.algorithm === algorithm && !row.isWithdrawn).map(({ kid }) => kid);
  const signsFrom = deps.clock();
  const version = nextVersion(rows, algorithm);
  const kid = await append(deps, { algorithm, version, signsFrom, withdrawsOthers: true });
  return kid === undefined ? undefined : { algorithm, kid, signsFrom, withdrawn: others };
};

type AddedKey = { readonly algorithm: Algorithm; readonly rows: readonly KeyRow[]; readonly signsFrom: Date };

/** Creates the key of an algorithm that follows those in the rows. */
const add = (deps: KeyDeps, { algorithm, rows, signsFrom }: AddedKey): Promise<string | undefined> =>
  append(deps, { algorithm, version: nextVersion(rows, algorithm), signsFrom, withdrawsOthers: false });

export const signingKeyFolds = {
  added: {
    credentials: [
      `insert into signing_keys (kid, algorithm, version, public_key, sealed, signs_from)
       select i.payload->>'kid', i.stream, i.version, i.secret->'publicKey', decode(i.secret->>'sealed', 'hex'),
         (i.payload->>'signsFrom')::timestamptz from $input i`,
      `update signing_keys k set withdrawn = i.time from $input i
       where k.algorithm = i.stream and k.version < i.version and k.withdrawn is null
         and (i.payload->>'withdrawsOthers')::boolean`,
    ],
  },
} satisfies NounFolds<"signingKey">;

const lastOf = (rows: readonly KeyRow[], algorithm: Algorithm) => rows.findLast((row) => row.algorithm === algorithm);

const nextVersion = (rows: readonly KeyRow[], algorithm: Algorithm) => (lastOf(rows, algorithm)?.version ?? 0n) + 1n;

type NewKey = Pick<KeyRow, "algorithm" | "version" | "signsFrom"> & { readonly withdrawsOthers: boolean };

/** Creates a key and returns its id. If several nodes do so at once, the log lets one win, and the others get undefined. */
async function append({ log, clock, ids, secrets, instanceId }: KeyDeps, key: NewKey): Promise<string | undefined> {
  const { algorithm, version, signsFrom, withdrawsOthers } = key;
  const pair = await generateKeyPair(algorithm, { extractable: true, modulusLength: 2048 });
  const [publicJwk, privateJwk] = await Promise.all([exportJWK(pair.publicKey), exportJWK(pair.privateKey)]);
  const kid = await calculateJwkThumbprint(publicJwk);
  const sealed = secrets.keyring.seal(Buffer.from(JSON.stringify(privateJwk)), contextOf(kid));
  const publicKey = { ...publicJwk, kid, alg: algorithm, use: "sig" } as JsonObject;
  const at = { ...first(instanceId, algorithm, clock()), version };
  const value = { kid, signsFrom: timestampFromDate(signsFrom), withdrawsOthers };
  const secret = { publicKey, sealed: Buffer.from(sealed).toString("hex") };
  const added = factOf("signingKey", at, { case: "added", value }, secret);
  return (await log.append(systemCall(ids()), [added], true).catch(lostRace)) ? kid : undefined;
}

async function openKey(keyring: Keyring, { kid, sealed, algorithm }: KeyRow): Promise<CryptoKey> {
  const jwk: JWK = JSON.parse(Buffer.from(keyring.open(sealed, contextOf(kid))).toString("utf8"));
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array) throw new Error("a signing key is no key pair");
  return key;
}

function whenLost(error: unknown): undefined {
  if (!(error instanceof SealBroken)) throw error;
}

/** Seals a key under the current master key. */
async function sealAnew({ sql, secrets }: KeyDeps, { kid, sealed }: KeyRow): Promise<void> {
  const plain = secrets.keyring.open(sealed, contextOf(kid));
  await sql`update signing_keys set sealed = ${secrets.keyring.seal(plain, contextOf(kid))} where kid = ${kid}`;
}

const contextOf = (kid: string) => `signing key ${kid}`;

/** The signing key. If this node's clock is slow, a lone key signs before its time. */
function signerOf(rows: readonly KeyRow[], algorithm: Algorithm, now: Date): KeyRow | undefined {
  const own = rows.filter((row) => row.algorithm === algorithm && !row.isWithdrawn);
  return own.findLast(({ signsFrom }) => signsFrom <= now) ?? own[0];
}

function isDue(rows: readonly KeyRow[], algorithm: Algorithm, now: Date): boolean {
  const last = lastOf(rows, algorithm);
  return last !== undefined && last.signsFrom.getTime() + signingMs - leadMs <= now.getTime();
}

function publishedOf(rows: readonly KeyRow[], now: Date): JWK[] {
  const isShown = (row: KeyRow) => {
    const next = rows.find((other) => other.algorithm === row.algorithm && other.version === row.version + 1n);
    return !row.isWithdrawn && (!next || next.signsFrom.getTime() + retentionMs > now.getTime());
  };
  return rows.filter(isShown).map(({ publicKey }) => publicKey as JWK);
}

async function readKeys(sql: Sql): Promise<readonly KeyRow[]> {
  return sql<KeyRow[]>`
    select kid, algorithm, version, public_key as "publicKey", sealed, signs_from as "signsFrom",
      withdrawn is not null as "isWithdrawn"
    from signing_keys order by algorithm, version`;
}
