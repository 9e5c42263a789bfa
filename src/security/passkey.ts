import { isIP } from "node:net";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** The relying party of WebAuthn: the host that passkeys are bound to, and the origin of the pages that may use them. */
export type RelyingParty = { readonly id: string; readonly origin: string };

/** The settings that the relying party follows from. */
export type PublicSettings = {
  readonly publicUrl: string | undefined;
  readonly port: number;
  readonly tlsCertFile: string;
};

/** The user for whom a passkey is made, and the credentials that its authenticators hold already. */
export type PasskeyUser = {
  readonly handle: Uint8Array;
  readonly username: string;
  readonly displayName: string;
  readonly credentials: readonly PasskeyName[];
};

/** The name of a credential, as an authenticator is asked for it. */
export type PasskeyName = { readonly id: Uint8Array; readonly transports: readonly string[] };

/** A new passkey that an authenticator proved to hold. */
export type NewPasskey = PasskeyName & {
  readonly publicKey: Uint8Array;
  readonly counter: number;
  readonly isSynced: boolean;
};

/** A passkey as it is stored. */
export type StoredPasskey = PasskeyName & { readonly publicKey: Uint8Array; readonly counter: number };

/** A challenge, and the relying party that it was made for. */
export type Challenged = { readonly challenge: Uint8Array; readonly party: RelyingParty };

// EdDSA, ES256 and RS256: the library's default begins with ML-DSA-44, which Node has only as an experiment.
const algorithms = [-8, -7, -257];

// RSA of 4096 bits takes 530 bytes. An identifier has 1023 at most (WebAuthn, 4).
const longestKey = 1024;
const longestId = 1023;

/** How long an authenticator may take. */
export const passkeySeconds = 300;

/** Derives the relying party from the public URL; WebAuthn takes no address for a name, so that localhost stands in. */
export function relyingParty({ publicUrl, port, tlsCertFile }: PublicSettings): RelyingParty {
  const url = new URL(publicUrl ?? `${tlsCertFile ? "https" : "http"}://localhost:${port}`);
  return { id: url.hostname, origin: url.origin };
}

/** Whether browsers make passkeys for the relying party: they take names alone (WebAuthn, 5.1.3 and 5.1.4.1), and no addresses. */
export const hasName = ({ id }: RelyingParty): boolean => isIP(id.replace(/^\[|\]$/g, "")) === 0;

/** Composes the options for a new passkey: discoverable, with verification of the user, without attestation. */
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

/** Composes the options for a sign-in; without credentials, any discoverable passkey of the relying party will do. */
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

/** Checks the answer to creation options; undefined when it proves nothing. */
export async function checkedCreation(given: JsonObject, asked: Challenged): Promise<NewPasskey | undefined> {
  const response = objectIn(given, "response");
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  const { decodeAttestationObject, isoBase64URL } = await import("@simplewebauthn/server/helpers");
  return proven(async () => {
    const attestationObject = textIn(response, "attestationObject");
    const attestation = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject));
    // None was asked for, and a certificate would have the library fetch revocations from where the certificate says.
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

/** Reads the identifier of the credential of an answer; undefined where there is none. */
export function credentialIdIn(given: JsonObject): Buffer | undefined {
  const { id } = given;
  if (typeof id !== "string" || !/^[\w-]+$/.test(id)) return undefined;
  const bytes = Buffer.from(id, "base64url");
  return bytes.length > longestId ? undefined : bytes;
}

/** Reads the user handle of an answer; undefined where there is none, as from an authenticator that was asked for one credential. */
export function userHandleIn(given: JsonObject): Buffer | undefined {
  const { userHandle } = objectIn(given, "response");
  return typeof userHandle === "string" ? Buffer.from(userHandle, "base64url") : undefined;
}

/** Checks the answer to request options; returns the new count of the authenticator, or the reason why it proves nothing. */
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
        // The library compares before it verifies: a count that is not signed tells nothing of a copy.
        counter: -1,
      },
    });
    return verified ? authenticationInfo.newCounter : undefined;
  });
  if (count === undefined) return "PROOF";
  return goesOn(count, passkey.counter) ? count : "COUNTER";
}

/** Whether a count follows the stored one; authenticators that count nothing stay at 0 (WebAuthn, 7.2, 22). */
const goesOn = (count: number, stored: number): boolean => count > stored || (count === 0 && stored === 0);

const expectedOf = ({ challenge, party }: Challenged) => ({
  expectedChallenge: base64url(challenge),
  expectedOrigin: party.origin,
  expectedRPID: party.id,
  requireUserVerification: true,
});

/** Runs a check of bytes from anywhere: whatever the library throws about them means that they prove nothing. */
async function proven<T>(check: () => Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await check();
  } catch {
    return undefined;
  }
}

/** Throws for an answer that was made inside a frame of another origin. */
function refuseFrames(response: JsonObject): void {
  const client = JSON.parse(Buffer.from(textIn(response, "clientDataJSON"), "base64url").toString("utf8"));
  if (client.crossOrigin === true || client.topOrigin !== undefined) throw new Error("made in a frame");
}

/** The members of a credential beside its response. */
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
