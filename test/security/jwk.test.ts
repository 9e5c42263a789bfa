import { generateKeyPairSync, type JsonWebKey } from "node:crypto";
import { expect, test } from "vitest";
import { canonicalJwk, jwkFaults, type PublicJwk } from "../../src/security/jwk.ts";

const jwkOf = ({ publicKey }: ReturnType<typeof generateKeyPairSync>): PublicJwk => {
  const { kty = "", ...rest } = publicKey.export({ format: "jwk" }) as JsonWebKey;
  return { kty, ...(rest as Partial<PublicJwk>) };
};
const curve = (namedCurve: string) => jwkOf(generateKeyPairSync("ec", { namedCurve }) as never);
const bits = (modulusLength: number, publicExponent = 65_537) =>
  jwkOf(generateKeyPairSync("rsa", { modulusLength, publicExponent }) as never);
const members = (jwk: PublicJwk) => jwkFaults(jwk).map(({ member }) => member);

test("each kind of key is sound, and with the algorithms that fit it", () => {
  const kinds: readonly [PublicJwk, string][] = [
    [bits(2048), "PS512"],
    [bits(3072, 3), "RS256"],
    [curve("P-256"), "ES256"],
    [curve("P-384"), "ES384"],
    [curve("P-521"), "ES512"],
    [jwkOf(generateKeyPairSync("ed25519") as never), "EdDSA"],
  ];
  for (const [jwk, alg] of kinds) {
    expect(jwkFaults(jwk)).toEqual([]);
    for (const [, other] of kinds) expect(jwkFaults({ ...jwk, alg: other })).toHaveLength(fits(alg, other) ? 0 : 1);
  }
});

const fits = (alg: string, other: string) =>
  alg === other ||
  (/^[RP]S/.test(alg + other) === /^[RP]S/.test(other + alg) && /^[RP]S/.test(alg) && /^[RP]S/.test(other));

test("keys that are weak, of another kind, or none are named by the member at fault", () => {
  expect(members(bits(1024))).toEqual(["n"]);
  expect(members({ ...bits(2048), e: "AQ" })).toEqual(["e"]);
  expect(members({ ...bits(2048), e: "Ag" })).toEqual(["e"]);
  expect(members({ ...curve("P-256"), crv: "P-384" })).toEqual([""]);
  expect(members({ ...curve("P-256"), crv: "Ed25519" })).toEqual([""]);
  expect(members({ ...curve("P-256"), kty: "OKP" })).toEqual(["y"]);
  expect(members({ kty: "EC" })).toEqual(["crv", "x", "y"]);
});

test("a key without kid gets its thumbprint; one with leading zeros is the same key", () => {
  // RFC 8037, A.3.
  const ed = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
  expect(canonicalJwk(ed)).toEqual({ ...ed, kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" });
  const jwk = curve("P-256");
  const padded = Buffer.concat([Buffer.of(0), Buffer.from(jwk.x ?? "", "base64url")]).toString("base64url");
  expect(canonicalJwk({ ...jwk, x: padded })).toEqual(canonicalJwk(jwk));
});
