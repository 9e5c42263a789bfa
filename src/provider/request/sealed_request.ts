import { sameBytes } from "../../security/compare.ts";
import type { Keyring } from "../../security/seal.ts";

const context = "authorization request";
const formPurpose = "sign-in form";

/** How long a form on our pages can be submitted. */
export const formSeconds = 3_600;

/**
 * Seals the query of an authorization request for our forms, which return it. Anybody can send a request, so none is stored before its user
 * is known.
 */
export function sealRequest(keyring: Keyring, query: string, now: Date): string {
  const content = JSON.stringify([now.getTime(), query]);
  return Buffer.from(keyring.seal(Buffer.from(content), context)).toString("base64url");
}

/** A request that we sealed: its query, and whether it was sealed more than an hour ago. */
export type OpenedRequest = { readonly query: string; readonly isOld: boolean };

/** Opens a sealed request; undefined if we did not seal it. */
export function openRequest(keyring: Keyring, sealed: string | undefined, now: Date): OpenedRequest | undefined {
  try {
    const content = keyring.open(Buffer.from(sealed ?? "", "base64url"), context);
    const [at, query] = JSON.parse(Buffer.from(content).toString("utf8")) as [number, string];
    return { query, isOld: now.getTime() - at > formSeconds * 1000 };
  } catch {
    return undefined;
  }
}

/** Opens a sealed request; undefined if it is older than an hour, or we did not seal it. */
export function freshRequest(keyring: Keyring, sealed: string | undefined, now: Date): string | undefined {
  const opened = openRequest(keyring, sealed, now);
  return opened?.isOld === false ? opened.query : undefined;
}

/** The browser, the sealed request and the session that a form belongs to. */
export type FormOf = {
  readonly browser: string;
  readonly request: string;
  readonly sessionId: string;
  /** Whether the session was begun for this very request. */
  readonly isSignedIn?: boolean;
};

/** Makes the token that proves that a form comes from our page, in the browser it was shown in. */
export const formToken = (keyring: Keyring, form: FormOf): string =>
  keyring.mac(formPurpose, textOf(form)).toString("base64url");

export function isFormToken(keyring: Keyring, form: FormOf, token: string | undefined): boolean {
  const given = Buffer.from(token ?? "", "base64url");
  const matches = keyring.macs(formPurpose, textOf(form)).map((mac) => sameBytes(mac, given));
  return matches.includes(true);
}

const textOf = ({ browser, request, sessionId, isSignedIn = false }: FormOf) =>
  JSON.stringify([browser, request, sessionId, isSignedIn]);
