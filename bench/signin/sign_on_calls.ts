import { createHash, createPublicKey, type JsonWebKey, type KeyObject, verify } from "node:crypto";
import type { Calls } from "../../packages/gateway/bench/load/generator.ts";
import { basicOf, formOf, type Json, jsonIn } from "./http_text.ts";

/** A browser with a session at a provider: the user, and the cookies. */
export type SignedIn = { readonly sub: string; readonly cookie: string };

/** The application that users sign on to, and what its provider says about itself. */
export type SignOnCalls = {
  readonly issuer: string;
  readonly authorize: string;
  readonly token: string;
  readonly userinfo: string;
  readonly keys: readonly (JsonWebKey & { readonly kid?: string })[];
  readonly client: { readonly id: string; readonly secret: string; readonly redirectUri: string };
  readonly browsers: readonly SignedIn[];
};

/**
 * Makes whole sign-ons of known sessions: a request for a code, its exchange for tokens, and a question for the claims of the user, each
 * caller with a browser of its own. The thread that sends them imports this.
 */
export function callsOf(options: unknown): Calls {
  const calls = options as SignOnCalls;
  const { host } = new URL(calls.issuer);
  const check = idTokenCheck(calls);
  const browserOf = (caller: number) => calls.browsers[caller] ?? nobody;
  return {
    http: "1",
    bytes: (n, caller) => authorizeRequest(calls, { host, n, cookie: browserOf(caller).cookie }),
    further: [
      (response, n) => tokenRequest(calls, { host, n, code: codeIn(response, calls, n) }),
      (response, n, caller) => {
        const tokens = jsonIn(response);
        const isRight = tokens.token_type === "Bearer" && check(textOf(tokens.id_token), n, browserOf(caller));
        return isRight ? userinfoRequest(calls, host, textOf(tokens.access_token)) : undefined;
      },
    ],
    isRight: (response, _, caller) => jsonIn(response).sub === browserOf(caller).sub,
  };
}

const nobody: SignedIn = { sub: "nobody", cookie: "" };

const stateOf = (n: number) => `state-${n}`;
const nonceOf = (n: number) => `nonce-${n}`;
// RFC 7636, 4.1: 43 characters at least.
const verifierOf = (n: number) => `verifier-${String(n).padStart(40, "0")}`;
const challengeOf = (n: number) => createHash("sha256").update(verifierOf(n)).digest("base64url");

type Asking = { readonly host: string; readonly n: number; readonly cookie: string };

function authorizeRequest({ authorize, client }: SignOnCalls, { host, n, cookie }: Asking): string {
  const query = new URLSearchParams([
    ["client_id", client.id],
    ["redirect_uri", client.redirectUri],
    ["response_type", "code"],
    ["scope", "openid"],
    ["state", stateOf(n)],
    ["nonce", nonceOf(n)],
    ["code_challenge", challengeOf(n)],
    ["code_challenge_method", "S256"],
  ]);
  return `GET ${authorize}?${query} HTTP/1.1\r\nhost: ${host}\r\ncookie: ${cookie}\r\n\r\n`;
}

/** The code of the redirect; undefined where the browser was sent elsewhere, or with anything else. */
function codeIn(response: string, { issuer, client }: SignOnCalls, n: number): string | undefined {
  const [, location = ""] = /^HTTP\/1\.1 30[23] [\s\S]*?\r\nlocation: *([^\r]+)/i.exec(response) ?? [];
  if (!location.startsWith(`${client.redirectUri}?`)) return undefined;
  const given = new URLSearchParams(location.slice(client.redirectUri.length + 1));
  const isOurs = given.get("state") === stateOf(n) && given.get("iss") === issuer;
  return isOurs ? (given.get("code") ?? undefined) : undefined;
}

type Exchanging = { readonly host: string; readonly n: number; readonly code: string | undefined };

function tokenRequest({ token, client }: SignOnCalls, { host, n, code }: Exchanging): string | undefined {
  if (code === undefined) return undefined;
  const form = formOf([
    ["grant_type", "authorization_code"],
    ["code", code],
    ["redirect_uri", client.redirectUri],
    ["code_verifier", verifierOf(n)],
  ]);
  return `POST ${token} HTTP/1.1\r\nhost: ${host}\r\n${basicOf(client)}${form}`;
}

const userinfoRequest = ({ userinfo }: SignOnCalls, host: string, token: string): string =>
  `GET ${userinfo} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n\r\n`;

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Makes the check of an ID token: RS256 by a published key, and the claims of this request for this user. */
function idTokenCheck({ issuer, keys, client }: SignOnCalls) {
  const known = new Map(keys.map((key) => [key.kid, createPublicKey({ key, format: "jwk" })]));
  return (idToken: string, n: number, { sub }: SignedIn): boolean => {
    const [header = "", payload = "", signature = ""] = idToken.split(".");
    const { alg, kid } = decoded(header);
    const key = known.get(textOf(kid));
    if (alg !== "RS256" || !key || !isSigned(`${header}.${payload}`, signature, key)) return false;
    const claims = decoded(payload);
    const isForUs = [claims.aud].flat().includes(client.id) && Number(claims.exp) * 1000 > Date.now();
    return isForUs && claims.iss === issuer && claims.sub === sub && claims.nonce === nonceOf(n);
  };
}

const isSigned = (text: string, signature: string, key: KeyObject): boolean =>
  verify("sha256", Buffer.from(text), key, Buffer.from(signature, "base64url"));

const decoded = (part: string): Json => JSON.parse(Buffer.from(part, "base64url").toString() || "{}") as Json;
