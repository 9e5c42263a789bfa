import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { sameBytes } from "./compare.ts";

export type Keyring = ReturnType<typeof keyring>;

/** Sealed bytes cannot be opened: another key, another context, or damage. */
export class SealBroken extends Error {
  constructor(why: string) {
    super(`sealed bytes cannot be opened: ${why}`);
    this.name = "SealBroken";
  }
}

type MasterKey = { id: Buffer; derive(purpose: string): KeyObject };

const KEY_BYTES = 32;
const VERSION = 1;
const ID_END = 5;
const SALT_END = ID_END + 12;
const NONCE_END = SALT_END + 12;
const TAG_BYTES = 16;
const CHECK = "check value";

/** Seals, opens and signs with master keys: the first for everything new, the others for data from before a rotation. */
export function keyring(keys: readonly Uint8Array[]) {
  const [current, ...older] = keys.map(masterKey);
  if (!current) throw new Error("a keyring needs at least one key");
  const all = [current, ...older];
  refuseRepeated(all);

  const mac = (purpose: string, data: string | Uint8Array) => macUnder(current, purpose, data);
  const macs = (purpose: string, data: string | Uint8Array) => all.map((key) => macUnder(key, purpose, data));

  return {
    /** Encrypts and authenticates data, bound to a context that `open` also requires. */
    seal: (plaintext: Uint8Array, context: string) => sealUnder(current, plaintext, context),

    /** The first bytes of everything sealed with keys before the current one. */
    earlier: older.map(({ id }) => Buffer.concat([Buffer.of(VERSION), id])),

    /** Decrypts sealed data with the same context, using whichever key sealed it. */
    open: (sealed: Uint8Array, context: string) => openUnder(keyOf(all, sealed), sealed, context),

    /** Whether the current key sealed the data; otherwise, it can only be opened as long as an older key is configured. */
    isCurrent: (sealed: Uint8Array) => sameBytes(current.id, sealed.subarray(1, ID_END)),

    /** Signs data with a key derived for the purpose, one of a few constants. */
    mac,

    /** Signs data with every key, the current one first, to find or check signatures from before a rotation. */
    macs,

    /** The value stored in the database to keep out nodes with another key. */
    checkValue: () => mac(CHECK, ""),

    /** Whether one of the keys produced the check value. */
    holds: (checkValue: Uint8Array) => macs(CHECK, "").some((mine) => sameBytes(mine, checkValue)),
  };
}

function masterKey(key: Uint8Array): MasterKey {
  if (key.length !== KEY_BYTES) throw new Error(`a master key has ${KEY_BYTES} bytes, not ${key.length}`);
  const derived = new Map<string, KeyObject>();
  // Node takes two to five times as long if a key is given as bytes.
  function derive(purpose: string): KeyObject {
    const known = derived.get(purpose);
    if (known) return known;
    const made = createSecretKey(Buffer.from(hkdfSync("sha256", key, "", `postern ${purpose}`, KEY_BYTES)));
    derived.set(purpose, made);
    return made;
  }
  return {
    id: derive("key id")
      .export()
      .subarray(0, ID_END - 1),
    derive,
  };
}

function refuseRepeated(keys: readonly MasterKey[]): void {
  const ids = new Set(keys.map(({ id }) => id.toString("hex")));
  if (ids.size !== keys.length) throw new Error("the same master key is given twice");
}

function macUnder(key: MasterKey, purpose: string, data: string | Uint8Array): Buffer {
  return createHmac("sha256", key.derive(`mac ${purpose}`))
    .update(data)
    .digest();
}

// NIST SP 800-38D, 8.3 allows at most 2^32 random nonces per AES-GCM key, which a busy service exceeds within weeks. Each message therefore
// has its own key, derived from twelve more random bytes, as in XAES-256-GCM.
function messageKey(key: MasterKey, salt: Uint8Array): KeyObject {
  return createSecretKey(createHmac("sha256", key.derive("seal")).update(salt).digest());
}

function sealUnder(key: MasterKey, plaintext: Uint8Array, context: string): Uint8Array {
  const head = Buffer.concat([Buffer.of(VERSION), key.id, randomBytes(NONCE_END - ID_END)]);
  const salt = head.subarray(ID_END, SALT_END);
  const cipher = createCipheriv("aes-256-gcm", messageKey(key, salt), head.subarray(SALT_END));
  cipher.setAAD(Buffer.from(context, "utf8"));
  return Buffer.concat([head, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

function keyOf(keys: readonly MasterKey[], sealed: Uint8Array): MasterKey {
  if (sealed.length < NONCE_END + TAG_BYTES) throw new SealBroken("they are cut short");
  if (sealed[0] !== VERSION) throw new SealBroken("they are of a version that this server does not know");
  const key = keys.find(({ id }) => sameBytes(id, sealed.subarray(1, ID_END)));
  if (!key) throw new SealBroken("none of the master keys made them");
  return key;
}

function openUnder(key: MasterKey, sealed: Uint8Array, context: string): Uint8Array {
  const end = sealed.length - TAG_BYTES;
  const perMessage = messageKey(key, sealed.subarray(ID_END, SALT_END));
  const decipher = createDecipheriv("aes-256-gcm", perMessage, sealed.subarray(SALT_END, NONCE_END), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(context, "utf8"));
  decipher.setAuthTag(sealed.subarray(end));
  const plaintext = decipher.update(sealed.subarray(NONCE_END, end));
  try {
    return Buffer.concat([plaintext, decipher.final()]);
  } catch {
    throw new SealBroken("they were changed, or belong elsewhere");
  }
}
