import { isIP } from "node:net";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** The WebAuthn relying party: the host that passkeys are bound to, and the origin of the pages that may use them. */
export type RelyingParty = { readonly id: string; readonly origin: string };

/** The settings that determine the relying party. */
export type PublicSettings = {
  readonly publicUrl: string | undefined;
  readonly port: number;
  readonly tlsCertFile: string;
};

/** The user of a new passkey, and the credentials that their authenticators already have. */
export type PasskeyUser = {
  readonly handle: Uint8Array;
  readonly username: string;
  readonly displayName: string;
  readonly credentials: readonly PasskeyName[];
};

/** The name of a credential, for requesting it from an authenticator. */
export type PasskeyName = { readonly id: Uint8Array; readonly transports: readonly string[] };

/** A new passkey that an authenticator has proved to hold. */
export type NewPasskey = PasskeyName & {
  readonly publicKey: Uint8Array;
  readonly counter: number;
  readonly isSynced: boolean;
};

/** A stored passkey. */
export type StoredPasskey = PasskeyName & { readonly publicKey: Uint8Array; readonly counter: number };

/** A challenge, and the relying party it was made for. */
export type Challenged = { readonly challenge: Uint8Array; readonly party: RelyingParty };

// EdDSA, ES256 and RS256: the library's default begins with ML-DSA-44, which Node only supports experimentally.
const algorithms = [-8, -7, -257];

// An RSA key of 4096 bits takes 530 bytes. A credential id has at most 1023 (WebAuthn, 4).
const longestKey = 1024;
const longestId = 1023;

/** How long an authenticator may take to respond. */
export const passkeySeconds = 300;

/** Derives the relying party from the public URL. WebAuthn accepts no IP address as its id, so localhost takes its place. */
export function relyingParty({ publicUrl, port, tlsCertFile }: PublicSettings): RelyingParty {
  const url = new URL(publicUrl ?? `${tlsCertFile ? "https" : "http"}://localhost:${port}`);
  return { id: url.hostname, origin: url.origin };
}

/** Whether browsers make passkeys for the relying party: only for domain names (WebAuthn, 5.1.3 and 5.1.4.1), not for IP addresses. */
export const hasName = ({ id }: RelyingParty): boolean => isIP(id.replace(/^\[|\]$/g, "")) === 0;

/** Composes the options for a new passkey: discoverable, with user verification, without attestation. */
export function creationOptions({ challenge, party }: Challenged, user: PasskeyUser) {
  return {
    challenge: base64url(challenge),
    rp: { id: party.id, name: party.id },
    user: { id: base64url(user.handle), name: user.username, displayName: user.displayName },
    pubKeyCredParams: algorithms.map((alg) => ({ type: "public-key", alg })),
    timeout: passkeySeconds * 1000,
    attestation: "none",
    authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
    excludeCredentials: user.credentials.map(descriptor),
  };
}

/** Composes the options for a sign-in; without credentials, any discoverable passkey of the relying party is accepted. */
export function requestOptions({ challenge, party }: Challenged, credentials: readonly PasskeyName[] = []) {
  return {
    challenge: base64url(challenge),
    rpId: party.id,
    timeout: passkeySeconds * 1000,
    userVerification: "required",
    allowCredentials: credentials.map(descriptor),
  };
}

const descriptor = ({ id, transports }: PasskeyName) => ({
  type: "public-key",
  id: base64url(id),
  transports: [...transports],
});

/** Checks a response to creation options; undefined if it proves nothing. */
export async function checkedCreation(given: JsonObject, asked: Challenged): Promise<NewPasskey | undefined> {
  const response = objectIn(given, "response");
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  const { decodeAttestationObject, isoBase64URL } = await import("@simplewebauthn/server/helpers");
  return proven(async () => {
    const attestationObject = textIn(response, "attestationObject");
    const attestation = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
    // No attestation was requested, and with a certificate, the library would fetch revocations from a URL in that certificate.
    if (attestation.get("attStmt").get("x5c") !== undefined || isForeignFormat(attestation.get("fmt")))
      return undefined;
    refuseFrames(response);
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...credentialIn(given),
        response: { clientDataJSON: textIn(response, "clientDataJSON"), attestationObject },
      },
      ...expectedOf(asked),
      supportedAlgorithmIDs: algorithms,
    });
    if (!verified) return undefined;
    const { credential, credentialDeviceType } = registrationInfo;
    const id = Buffer.from(credential.id, "base64url");
    if (id.length > longestId || credential.publicKey.length > longestKey) return undefined;
    const { publicKey, counter } = credential;
    return {
      id,
      publicKey,
      counter,
      transports: transportsIn(response),
      isSynced: credentialDeviceType === "multiDevice",
    };
  });
}

const isForeignFormat = (format: string) => format !== "none" && format !== "packed";

/** Reads the credential id of a response; undefined if there is none. */
export function credentialIdIn(given: JsonObject): Buffer | undefined {
  const { id } = given;
  if (typeof id !== "string" || !/^[\w-]+$/.test(id)) return undefined;
  const bytes = Buffer.from(id, "base64url");
  return bytes.length > longestId ? undefined : bytes;
}

/** Reads the user handle of a response; undefined if there is none, as when a specific credential was requested. */
export function userHandleIn(given: JsonObject): Buffer | undefined {
  const { userHandle } = objectIn(given, "response");
  return typeof userHandle === "string" ? Buffer.from(userHandle, "base64url") : undefined;
}

/** Checks a response to request options; returns the authenticator's new counter, or the reason why the response proves nothing. */
export async function checkedRequest(
  given: JsonObject,
  asked: Challenged,
  passkey: StoredPasskey,
): Promise<number | "PROOF" | "COUNTER"> {
  const response = objectIn(given, "response");
  const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
  const count = await proven(async () => {
    refuseFrames(response);
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        ...credentialIn(given),
        response: {
          clientDataJSON: textIn(response, "clientDataJSON"),
          authenticatorData: textIn(response, "authenticatorData"),
          signature: textIn(response, "signature"),
        },
      },
      ...expectedOf(asked),
      credential: {
        id: base64url(passkey.id),
        publicKey: new Uint8Array(passkey.publicKey),
        // The library compares counters before verifying the signature, but an unsigned counter says nothing about a clone.
        counter: -1,
      },
    });
    return verified ? authenticationInfo.newCounter : undefined;
  });
  if (count === undefined) return "PROOF";
  return goesOn(count, passkey.counter) ? count : "COUNTER";
}

/** Whether a counter follows the stored one; authenticators without a counter stay at 0 (WebAuthn, 7.2, 22). */
const goesOn = (count: number, stored: number): boolean => count > stored || (count === 0 && stored === 0);

const expectedOf = ({ challenge, party }: Challenged) => ({
  expectedChallenge: base64url(challenge),
  expectedOrigin: party.origin,
  expectedRPID: party.id,
  requireUserVerification: true,
});

/** Checks untrusted bytes: if the library throws for whatever reason, they prove nothing. */
async function proven<T>(check: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await check();
  } catch {
    return undefined;
  }
}

/** Throws for a response that was created inside a frame of another origin. */
function refuseFrames(response: JsonObject): void {
  const client = JSON.parse(Buffer.from(textIn(response, "clientDataJSON"), "base64url").toString("utf8"));
  if (client.crossOrigin === true || client.topOrigin !== undefined) throw new Error("made in a frame");
}

/** The members of a credential other than its response. */
function credentialIn(given: JsonObject) {
  const [id, rawId] = [textIn(given, "id"), textIn(given, "rawId")];
  if (given.type !== "public-key") throw new Error("no public key");
  return { id, rawId, type: "public-key", clientExtensionResults: {} } as const;
}

const knownTransports: readonly JsonValue[] = ["ble", "cable", "hybrid", "internal", "nfc", "smart-card", "usb"];

const transportsIn = ({ transports }: JsonObject): string[] =>
  Array.isArray(transports) ? knownTransports.filter((one) => transports.includes(one)).map(String) : [];

function textIn(object: JsonObject, name: string): string {
  const value = object[name];
  if (typeof value !== "string") throw new Error(`${name} is no text`);
  return value;
}

function objectIn(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
