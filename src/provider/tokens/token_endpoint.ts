import { createHash } from "node:crypto";
import { OidcGrantType } from "../../../gen/postern/v1/application_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { foreignKey } from "../../postgres/failure.ts";
import { sameBytes } from "../../security/compare.ts";
import { OauthError } from "../http/oauth_error.ts";
import { type Parameters, required, wordsOf } from "../http/parameters.ts";
import { later, type ProviderSettings } from "../http/settings.ts";
import type { Client } from "../request/client.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { refuseTarget } from "../request/own_api.ts";
import { deviceGrant } from "./device_grant.ts";
import { deviceGrantType } from "./discovery.ts";
import {
  type ClientWith,
  clientAndCode,
  clientAndRefresh,
  clientRead,
  type FoundCode,
  type FoundRefresh,
} from "./grant_read.ts";
import { firstRefreshToken, nextRefreshToken } from "./refresh_token.ts";
import { endSignOn, SignOnEnd } from "./sign_on.ts";
import type { SignOn } from "./subject.ts";
import {
  type AccessToken,
  algorithmOf,
  type CodeIn,
  codeRedemption,
  isUsed,
  newAccessToken,
  newIdToken,
  openSuccessor,
  replaceRefresh,
  sealSuccessor,
  type TokenMaker,
  type TokenOf,
  writeAccessToken,
} from "./tokens.ts";
import { triedAgain } from "./tried_again.ts";

/** The answer of the token endpoint (RFC 6749, 5.1). */
export type TokenResponse = {
  readonly access_token: string;
  readonly token_type: "Bearer";
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
};

type Parts = {
  readonly deps: Deps;
  readonly settings: ProviderSettings;
  readonly maker: TokenMaker;
  readonly authenticate: Authenticate;
};

const longestToken = 200;
const graceMs = 10_000;

/** Makes the answers of the token endpoint. */
export function tokenEndpoint({ deps, settings, maker, authenticate }: Parts) {
  const { sql, clock, secrets } = deps;
  const [codeOf, refreshOf, clientOf] = [clientAndCode(sql), clientAndRefresh(sql), clientRead(sql)];
  const redeemCode = codeRedemption(sql);
  const deviceOf = deviceGrant({ deps, authenticate });
  const seconds = settings.oauthTokenLifetimeSeconds;

  return async (request: TokenQuestion): Promise<TokenResponse> => {
    const grantType = required(request.form, "grant_type", longestToken);
    if (grantType === "authorization_code") return fromCode(request);
    if (grantType === "refresh_token") return fromRefresh(request);
    if (grantType === deviceGrantType) return fromDevice(request);
    await authenticate(await clientOf(request.proof.clientId, clock()), request);
    const types = `authorization_code, refresh_token or ${deviceGrantType}`;
    throw new OauthError("unsupported_grant_type", `grant_type must be ${types}`);
  };

  async function fromCode(request: TokenQuestion): Promise<TokenResponse> {
    const { form, proof } = request;
    const [code, now] = [required(form, "code", longestToken), clock()];
    const read = await codeOf(proof.clientId, code, now);
    const client = await authenticate(read?.client, request);
    refuseGrantType(client, OidcGrantType.AUTHORIZATION_CODE);
    const found = ofClient(client, read);
    if (!found.isUsed) refuseWrong(found, form);
    return redeemed(request, { client, found, of: { code, table: "authorization_codes" } });
  }

  async function fromDevice(request: TokenQuestion): Promise<TokenResponse> {
    const { client, code, found } = await deviceOf(request);
    return redeemed(request, { client, found, of: { code, table: "device_codes" } });
  }

  /** Exchanges a code that its client may have; one that comes again ends what it gave. */
  async function redeemed({ form, call }: TokenQuestion, { client, found, of }: Redeemable): Promise<TokenResponse> {
    const now = clock();
    const { signOn } = found;
    if (found.isUsed) throw await reused(found, call, SignOnEnd.CODE_REUSED);
    if (!signOn) throw notInForce();
    refuseTarget(client, signOn, { form, issuer: maker.issuer() });
    const access = await newAccessToken(maker, { client, signOn, now }, signOn.scope);
    const refresh = isRefreshable(client, signOn)
      ? newRefresh(firstRefreshToken(), now, later(now, settings.refreshLifetimeSeconds))
      : undefined;
    const end = refresh ? later(now, settings.refreshLifetimeSeconds) : access.expirationDate;
    const written = async () => {
      const done = await redeemCode({ ...of, sessionId: found.end.sessionId }, { now, access, refresh, end });
      for (const one of done?.surplus ?? []) await endSignOn(deps, call, { ...found.end, ...one }, SignOnEnd.TOO_MANY);
      return done !== undefined;
    };
    const writing = () => triedAgain(written, call).catch(refuseEnded);
    const { idToken, isWritten } = await signedWhile(writing, { client, signOn, now }, access);
    if (!isWritten) throw await late(found, call, of);
    return response({ access, refresh: refresh?.text, idToken });
  }

  /** Refuses a code that was used, or whose sign-in ended, since it was read. */
  async function late(found: Redeemable["found"], call: Call, of: Redeemable["of"]): Promise<OauthError> {
    return (await isUsed(sql, of)) ? reused(found, call, SignOnEnd.CODE_REUSED) : notInForce();
  }

  async function fromRefresh(request: TokenQuestion): Promise<TokenResponse> {
    const { form, proof, call } = request;
    const [old, now] = [required(form, "refresh_token", longestToken), clock()];
    const read = await refreshOf(proof.clientId, old, now);
    const client = await authenticate(read?.client, request);
    refuseGrantType(client, OidcGrantType.REFRESH_TOKEN);
    const found = ofClient(client, read);
    if (isTooLate(found)) throw await reused(found, call, SignOnEnd.REFRESH_TOKEN_REUSED);
    const signOn = rightRefresh(found);
    refuseTarget(client, signOn, { form, issuer: maker.issuer() });
    const of = { client, signOn: { ...signOn, nonce: null }, now };
    const access = await newAccessToken(maker, of, narrowed(signOn.scope, form.get("scope")));
    const successor = newRefresh(
      nextRefreshToken(old),
      now,
      later(new Date(signOn.createdAt * 1000), settings.refreshLifetimeSeconds),
    );
    const sealed = sealSuccessor(secrets.keyring, old, successor.text);
    const replaced = () => replaceRefresh(sql, { old, successor, sealed }, access);
    const writing = async () => found.replacedMs === null && triedAgain(replaced, call).catch(refuseEnded);
    const { idToken, isWritten } = await signedWhile(writing, of, access);
    if (isWritten) return response({ access, refresh: successor.text, idToken });
    const written = () => writeAccessToken(sql, signOn.signOnId, access);
    if (!(await triedAgain(written, call).catch(refuseEnded))) throw notInForce();
    return response({ access, refresh: await successorOf(proof.clientId, old), idToken });
  }

  /** The successor that another presentation of a refresh token made a moment ago. */
  async function successorOf(clientId: string, old: string): Promise<string> {
    const { found } = (await refreshOf(clientId, old, clock())) ?? {};
    if (!found?.successor) throw notInForce();
    return openSuccessor(secrets.keyring, old, found.successor);
  }

  function newRefresh(text: string, now: Date, end: Date) {
    const idle = later(now, settings.refreshIdleSeconds);
    return { text, expirationDate: idle < end ? idle : end };
  }

  /** Ends the sign-in whose code or refresh token came again: one of the two who have it stole it. */
  async function reused({ end }: Pick<FoundCode, "end">, call: Call, reason: SignOnEnd): Promise<OauthError> {
    await endSignOn(deps, call, end, reason);
    return notInForce();
  }

  /** Writes tokens, and signs the ID token beside them meanwhile, where there is one: its key is at hand before anything is written. */
  async function signedWhile(write: () => Promise<boolean>, of: TokenOf, { text: accessToken }: AccessToken) {
    if (!wordsOf(of.signOn.scope).includes("openid")) return { idToken: undefined, isWritten: await write() };
    await maker.keys.signer(algorithmOf(of.client));
    const [idToken, isWritten] = await Promise.all([newIdToken(maker, of, { accessToken }), write()]);
    return { idToken, isWritten };
  }

  function response({ access, refresh, idToken }: Made): TokenResponse {
    return {
      access_token: access.text,
      token_type: "Bearer",
      expires_in: seconds,
      scope: access.scope,
      ...(refresh === undefined ? {} : { refresh_token: refresh }),
      ...(idToken === undefined ? {} : { id_token: idToken }),
    };
  }
}

type Redeemable = {
  readonly client: Client;
  readonly found: Pick<FoundCode, "isUsed" | "end" | "signOn">;
  readonly of: Pick<CodeIn, "code" | "table">;
};

type Made = {
  readonly access: { readonly text: string; readonly scope: string };
  readonly refresh: string | undefined;
  readonly idToken: string | undefined;
};

const notInForce = () =>
  new OauthError("invalid_grant", "it is unknown, expired, used, of another client, or its sign-in has ended");

/** Refuses where the sign-in ended while its tokens were written, which their foreign key found. */
function refuseEnded(error: unknown): never {
  throw foreignKey(error) === undefined ? error : notInForce();
}

function refuseGrantType({ oidc }: Client, type: OidcGrantType): void {
  if (!oidc.grantTypes.includes(type))
    throw new OauthError("unauthorized_client", "the application is not registered for this grant type");
}

/** The code or refresh token that was found; refuses one of another client. */
function ofClient<T extends FoundCode | FoundRefresh>({ appId }: Client, read: ClientWith<T> | undefined): T {
  const found = read?.found;
  if (!found || found.end.appId !== appId) throw notInForce();
  return found;
}

function refuseWrong({ redirectUri, challenge, isExpired, signOn }: FoundCode, form: Parameters): void {
  if (isExpired || !signOn) throw notInForce();
  if (form.get("redirect_uri") !== redirectUri)
    throw new OauthError("invalid_grant", "redirect_uri is not that of the authorization request");
  if (!isVerifier(challenge, form.get("code_verifier")))
    throw new OauthError("invalid_grant", "code_verifier does not fit the code_challenge of the authorization request");
}

/** Whether a verifier fits the challenge (RFC 7636, 4.6); one without a challenge fits none. */
function isVerifier(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) return challenge === null && verifier === undefined;
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false;
  const hash = createHash("sha256").update(verifier).digest("base64url");
  return sameBytes(Buffer.from(hash), Buffer.from(challenge));
}

const isTooLate = ({ replacedMs, isSwept }: FoundRefresh): boolean =>
  isSwept || (replacedMs !== null && replacedMs > graceMs);

function rightRefresh({ isExpired, signOn }: FoundRefresh): SignOn {
  if (isExpired || !signOn) throw notInForce();
  return signOn;
}

const isRefreshable = ({ oidc }: Client, { scope }: SignOn): boolean =>
  oidc.grantTypes.includes(OidcGrantType.REFRESH_TOKEN) && wordsOf(scope).includes("offline_access");

/** RFC 6749, 6: a refresh may ask for less than was granted, and for nothing else. */
function narrowed(granted: string, requested: string | undefined): string {
  if (requested === undefined) return granted;
  const words = [...new Set(wordsOf(requested))];
  if (words.length === 0 || words.some((word) => !wordsOf(granted).includes(word)))
    throw new OauthError("invalid_scope", "scope asks for more than was granted");
  return words.join(" ");
}
