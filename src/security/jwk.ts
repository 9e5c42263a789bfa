import { createHash, createPublicKey, type KeyObject } from "node:crypto";

/** A public key as a JSON Web Key, with the members that matter. */
export type PublicJwk = {
  readonly kty: string;
  readonly kid?: string;
  readonly alg?: string;
  readonly n?: string;
  readonly e?: string;
  readonly crv?: string;
  readonly x?: string;
  readonly y?: string;
};

/** An invalid member, or an empty name for the whole key. */
export type JwkFault = { readonly member: keyof PublicJwk | "" } & Fault;

/** The problem of a member, by the name and parameters of its text. */
type Fault =
  | { readonly text: "KEY_NUMBERS" | "KEY_EXPONENT" }
  | { readonly text: "KEY_MEMBER_MISSING" | "KEY_MEMBER_FOREIGN"; readonly params: { readonly kty: string } }
  | { readonly text: "KEY_BITS"; readonly params: { readonly min: number; readonly max: number } }
  | { readonly text: "KEY_ALGORITHM"; readonly params: { readonly names: string } };

/** Finds the problems of a key: members of other key types, an invalid point or number, too few bits, an algorithm that does not match. */
export function jwkFaults(jwk: PublicJwk): JwkFault[] {
  const faults = memberFaults(jwk);
  if (faults.length > 0) return faults;
  const key = keyOf(jwk);
  if (!key) return [{ member: "", text: "KEY_NUMBERS" }];
  return [...rsaFaults(key), ...algorithmFaults(jwk)];
}

/** The key in canonical form, numbers without leading zeros, and with its thumbprint as `kid` if it has none. */
export function canonicalJwk(jwk: PublicJwk) {
  const { n, e, crv, x, y } = createPublicKey({ key: { ...jwk }, format: "jwk" }).export({ format: "jwk" });
  const numbers = Object.fromEntries(Object.entries({ n, e, crv, x, y }).filter(([, value]) => value !== undefined));
  return { ...numbers, kty: jwk.kty, kid: jwk.kid ?? thumbprint({ ...numbers, kty: jwk.kty }) };
}

/** The thumbprint of a key (RFC 7638), from its required members in the order of their names. */
function thumbprint(members: Readonly<Record<string, string>>): string {
  const ordered = Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify(Object.fromEntries(ordered)))
    .digest("base64url");
}

const numbersOf: Readonly<Record<string, readonly (keyof PublicJwk)[]>> = {
  RSA: ["n", "e"],
  EC: ["crv", "x", "y"],
  OKP: ["crv", "x"],
};

const algorithms: Readonly<Record<string, readonly string[]>> = {
  RSA: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  "P-256": ["ES256"],
  "P-384": ["ES384"],
  "P-521": ["ES512"],
  Ed25519: ["EdDSA"],
};

function memberFaults(jwk: PublicJwk): JwkFault[] {
  const needed = numbersOf[jwk.kty] ?? [];
  const all = ["n", "e", "crv", "x", "y"] as const;
  return all.flatMap((member) => {
    if (needed.includes(member) === (jwk[member] !== undefined)) return [];
    const text = needed.includes(member) ? "KEY_MEMBER_MISSING" : "KEY_MEMBER_FOREIGN";
    return [{ member, text, params: { kty: jwk.kty } }];
  });
}

function keyOf(jwk: PublicJwk): KeyObject | undefined {
  try {
    return createPublicKey({ key: { ...jwk }, format: "jwk" });
  } catch {
    return undefined;
  }
}

const [fewestBits, mostBits] = [2048, 8192];

function rsaFaults({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): JwkFault[] {
  if (asymmetricKeyType !== "rsa") return [];
  const { modulusLength: bits = 0, publicExponent: exponent = 0n } = asymmetricKeyDetails ?? {};
  return [
    ...(bits >= fewestBits && bits <= mostBits
      ? []
      : [{ member: "n", text: "KEY_BITS", params: { min: fewestBits, max: mostBits } } as const]),
    ...(exponent >= 3n && exponent % 2n === 1n ? [] : [{ member: "e", text: "KEY_EXPONENT" } as const]),
  ];
}

function algorithmFaults({ kty, crv = "", alg }: PublicJwk): JwkFault[] {
  const fitting = algorithms[kty === "RSA" ? kty : crv] ?? [];
  if (alg === undefined || fitting.includes(alg)) return [];
  return [{ member: "alg", text: "KEY_ALGORITHM", params: { names: fitting.join(", ") } }];
}
