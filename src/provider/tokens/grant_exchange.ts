import type { Call, Deps } from "../../deps.ts";
import { foreignKey } from "../../postgres/failure.ts";
import { OauthError } from "../http/oauth_error.ts";
import { wordsOf } from "../http/parameters.ts";
import { later, type ProviderSettings } from "../http/settings.ts";
import type { Client } from "../request/client.ts";
import type { TokenQuestion } from "../request/client_authentication.ts";
import type { GrantType } from "../request/grant_type.ts";
import type { ClientWith, End } from "./grant_read.ts";
import type { Lifetimes } from "./lifetimes.ts";
import { endSignOn, type SignOnEnd } from "./sign_on.ts";
import { type ProvenKey, tokenTypeOf } from "./token_key.ts";
import {
  type AccessToken,
  algorithmOf,
  newIdToken,
  type RefreshToken,
  type TokenMaker,
  type TokenOf,
} from "./tokens.ts";

/** The response of the token endpoint (RFC 6749, 5.1). */
export type TokenResponse = {
  readonly access_token: string;
  /** Only in the response to a token exchange (RFC 8693, 2.2.1). */
  readonly issued_token_type?: string;
  readonly token_type: "Bearer" | "DPoP";
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
};

export type ExchangeParts = { readonly deps: Deps; readonly settings: ProviderSettings; readonly maker: TokenMaker };

/** A code or refresh token presented by an authenticated client, and the row that it identifies. */
export type Presented<T> = {
  readonly client: Client;
  readonly value: string;
  readonly found: T | null | undefined;
  /** The key that the tokens for it are bound to. */
  readonly key: ProvenKey;
  readonly now: Date;
};

/** A grant type: how the token endpoint exchanges the value of a form parameter for tokens. */
export type Exchange<T> = {
  /** The grant type that an application must be registered for. */
  readonly type: GrantType;
  readonly parameter: string;
  readonly open: (parts: ExchangeParts) => {
    readonly read: (clientId: string, value: string, now: Date) => Promise<ClientWith<T> | undefined>;
    readonly exchange: (request: TokenQuestion, presented: Presented<T>) => Promise<TokenResponse>;
  };
};

/** The error for a code or refresh token that is not valid. */
export const notInForce = () =>
  new OauthError("invalid_grant", "it is unknown, expired, used, of another client, or its sign-in has ended");

/** Fails if the sign-in ended while its tokens were being written, which their foreign key detects. */
export function refuseEnded(error: unknown): never {
  throw foreignKey(error) === undefined ? error : notInForce();
}

/** The code or refresh token that was found; fails if it belongs to another client. */
export function ofClient<T extends { readonly end: End }>({ client, found }: Presented<T>): T {
  if (!found || found.end.appId !== client.appId) throw notInForce();
  return found;
}

/** A code or refresh token presented twice: its sign-in, the call that presented it, and which of them it is. */
type Reuse = { readonly end: End; readonly call: Call; readonly reason: SignOnEnd };

/** Ends a sign-in whose code or refresh token was presented twice: one of the two holders stole it. */
export async function reused(deps: Deps, { end, call, reason }: Reuse): Promise<OauthError> {
  await endSignOn(deps, call, end, reason);
  return notInForce();
}

/** Makes a refresh token with its expiry: after a period without use, and at the latest when refreshing ends altogether. */
export function newRefresh(
  { refreshIdle }: Lifetimes,
  text: string,
  { now, end }: { now: Date; end: Date },
): RefreshToken {
  const idle = later(now, refreshIdle);
  return { text, expirationDate: idle < end ? idle : end };
}

/** A write of tokens, and the access token that it stores. */
type Writing = { readonly write: () => Promise<boolean>; readonly access: AccessToken };

/** Writes tokens and signs any ID token in parallel. The key is loaded before anything is written. */
export async function signedWhile(maker: TokenMaker, of: TokenOf, { write, access }: Writing) {
  if (!wordsOf(of.signOn.scope).includes("openid")) return { idToken: undefined, isWritten: await write() };
  await maker.keys.signer(algorithmOf(of.client));
  const [idToken, isWritten] = await Promise.all([newIdToken(maker, of, { accessToken: access.text }), write()]);
  return { idToken, isWritten };
}

type Made = {
  readonly access: Pick<AccessToken, "text" | "scope" | "seconds" | "jkt">;
  readonly refresh: string | undefined;
  readonly idToken: string | undefined;
};

export const tokenResponse = ({ access, refresh, idToken }: Made): TokenResponse => ({
  access_token: access.text,
  token_type: tokenTypeOf(access.jkt),
  expires_in: access.seconds,
  scope: access.scope,
  ...(refresh === undefined ? {} : { refresh_token: refresh }),
  ...(idToken === undefined ? {} : { id_token: idToken }),
});
