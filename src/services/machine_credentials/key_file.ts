import { generateKeyPair as generate } from "node:crypto";
import { promisify } from "node:util";
import type { JsonWebKey } from "../../../gen/postern/v1/application_pb.ts";
import { refuse } from "../../errors.ts";
import { NoPlace, placesFor } from "../../security/places.ts";
import { storedKey } from "../applications/application_key.ts";

const generateKeyPair = promisify(generate);

// Each generation keeps one of Node's few threads busy for as long as several password hashes, which would all wait behind it.
const places = { limit: 1, waitMs: 30_000 };

/** A new key: its public part to store, and its private part for the file. */
export type NewKey = { readonly publicKey: JsonWebKey; readonly privateKey: string };

/** Makes the generator of keys, which generates one at a time. Organizations take turns. All clients know RSA; some know nothing else. */
export function keyGenerator(): (signal: AbortSignal) => Promise<NewKey> {
  const inPlace = placesFor(places);
  return (signal) => inPlace(newKey, { signal }).catch(inWords);
}

function inWords(error: unknown): never {
  throw error instanceof NoPlace ? refuse.because("OVERLOADED", { retrySeconds: 1 }) : error;
}

async function newKey(): Promise<NewKey> {
  const { publicKey, privateKey } = await generateKeyPair("rsa", { modulusLength: 2048 });
  const { kty = "", n = "", e = "" } = publicKey.export({ format: "jwk" });
  return {
    publicKey: storedKey({ kty, n, e, alg: "RS256" }),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** The members of the file besides the key. */
export type KeyFile = Readonly<Record<"clientId" | "issuer" | "privateKey", string>> & {
  readonly keyId: string | undefined;
  readonly expirationDate: Date | undefined;
};

/** The file with everything that a client needs to get tokens. */
export const keyFile = ({ clientId, keyId, privateKey, issuer, expirationDate }: KeyFile): string =>
  JSON.stringify(
    {
      clientId,
      keyId,
      algorithm: "RS256",
      privateKey,
      issuer,
      tokenEndpoint: `${issuer}/oauth/token`,
      expirationDate: expirationDate?.toISOString(),
    },
    null,
    2,
  );
