import { OidcIdTokenAlgorithm } from "../../../gen/postern/v1/application_pb.ts";
import { asking, type Question } from "../../events/load.ts";
import { sharedWrite } from "../../events/shared_write.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { Keyring } from "../../security/seal.ts";
import { hashToken, newToken } from "../../security/token.ts";
import { later, secondsOf } from "../http/settings.ts";
import type { Client } from "../request/client.ts";
import { type Resource, type ResourceKey, resourceKeys, scopeFor } from "../request/resource.ts";
import { accessTokenClaims, type Companion, type Issue, idTokenClaims, isJwtClient, skewOf } from "./claims.ts";
import { signJwt } from "./jwt.ts";
import { type LifetimeSettings, lifetimesOf } from "./lifetimes.ts";
import { familyOf } from "./refresh_token.ts";
import type { Algorithm, SigningKeys } from "./signing_keys.ts";
import type { SignOn } from "./subject.ts";
import type { TokenKey } from "./token_key.ts";

/** An access token: its text, the value whose hash identifies its row, its lifetime in seconds, and when Postern stops accepting it. */
export type AccessToken = {
  readonly text: string;
  readonly value: string;
  readonly scope: string;
  /** The API that it is for, if it is for one by its resource URI. */
  readonly resource: Resource | undefined;
  /** The key that it is bound to. */
  readonly jkt: TokenKey;
  readonly created: Date;
  readonly seconds: number;
  readonly expirationDate: Date;
};

export type TokenMaker = {
  readonly keys: SigningKeys;
  readonly issuer: () => string;
  readonly ids: () => string;
  readonly settings: LifetimeSettings;
};

/** The client and sign-in of a token, the time, and for an access token the API that it is for and its key. */
export type TokenOf = {
  readonly client: Client;
  readonly signOn: SignOn;
  readonly now: Date;
  readonly resource?: Resource | undefined;
  readonly jkt?: TokenKey;
};

/**
 * Makes an access token: opaque, or a JWT if its API, or without one the application, wants those. Tokens for our own API are always
 * opaque.
 */
export async function newAccessToken(maker: TokenMaker, of: TokenOf, asked: string): Promise<AccessToken> {
  const { client, signOn, now, resource, jkt } = of;
  const isJwt = resource ? resource.isJwt : isJwtClient(client) && !signOn.forApi;
  const { access } = lifetimesOf(client, maker.settings);
  const scope = resource ? scopeFor(resource, asked, signOn.roles) : asked;
  const token = { scope, resource, jkt, created: now };
  if (!isJwt) {
    const text = newToken("oa");
    return { ...token, text, value: text, seconds: access, expirationDate: later(now, access) };
  }
  const jti = maker.ids();
  const issue = issueOf(maker, of, access);
  const claims = accessTokenClaims(client, signOn, issue, { jti, scope, audience: resource?.uri, jkt });
  // A JWT is valid beyond its lifetime for clients with a slow clock, so it is valid here as well.
  const valid = issue.expires - issue.now;
  const lasting = { ...token, seconds: Math.min(access, valid), expirationDate: later(now, valid) };
  const algorithm = resource?.algorithm ?? "RS256";
  return { ...lasting, text: await signJwt(maker.keys, { type: "at+jwt", algorithm, claims }), value: jti };
}

export function newIdToken(maker: TokenMaker, of: TokenOf, companion: Companion = {}): Promise<string> {
  const { client, signOn } = of;
  const { id } = lifetimesOf(client, maker.settings);
  const claims = idTokenClaims(client, signOn, issueOf(maker, of, id), companion);
  return signJwt(maker.keys, { type: "JWT", algorithm: algorithmOf(client), claims });
}

/** The algorithm that signs an application's ID tokens and logout tokens. */
export const algorithmOf = ({ oidc }: Pick<Client, "oidc">): Algorithm =>
  oidc.idTokenAlgorithm === OidcIdTokenAlgorithm.ES256 ? "ES256" : "RS256";

/** A JWT is validated without asking us, so it expires when the first of the user's grants ends, to the second. */
function issueOf(
  { issuer }: TokenMaker,
  { client, signOn: { grantsEnd }, now: time }: TokenOf,
  seconds: number,
): Issue {
  const now = secondsOf(time);
  const expires = Math.min(now + seconds + skewOf(client), grantsEnd ?? Number.POSITIVE_INFINITY);
  return { issuer: issuer(), now, expires: Math.max(now + 1, expires) };
}

export type RefreshToken = { readonly text: string; readonly expirationDate: Date };

/** Tokens written together, and the expiry of the sign-in with the last of them. */
export type NewTokens = {
  readonly now: Date;
  readonly access: AccessToken;
  readonly refresh: RefreshToken | undefined;
  /** The key that the sign-in's refresh tokens are bound to. */
  readonly refreshKey: TokenKey;
};

/** A code to exchange for tokens, the session of its sign-in, and the table that holds it. */
export type CodeIn = {
  readonly code: string;
  readonly sessionId: string;
  readonly table: "authorization_codes" | "device_codes";
};

/**
 * Makes the write that uses up a code and stores its tokens; undefined if another request was first, or if the sign-in has ended since. The
 * end of a session locks all its sign-ins, so a statement contains at most one sign-in of each session. The write waits separately for
 * sign-ins that are ending: deleting an application that many signed in to takes long, and must not delay other codes.
 */
export function codeRedemption(sql: Sql) {
  const [ofBrowser, ofDevice] = [redemptionFrom(sql, "authorization_codes"), redemptionFrom(sql, "device_codes")];
  return (of: CodeIn, tokens: NewTokens & { readonly end: Date }): Promise<Redeemed | undefined> =>
    (of.table === "device_codes" ? ofDevice : ofBrowser)(redemptionKey(of, tokens));
}

function redemptionFrom(sql: Sql, table: CodeIn["table"]) {
  const namesOf = ({ session, hash }: RedemptionKey) => [session, hash];
  const shared = sharedWrite<RedemptionKey, Redeemed>(sql, redemption(table, "skip locked"), { namesOf });
  const alone = asking<RedemptionKey, Redeemed>(sql, redemption(table, ""));
  return async (key: RedemptionKey) => (await shared(key)) ?? (await alone([key]))[0];
}

/** A code that was exchanged, and the oldest sign-ins of its user to the application that exceed the maximum number of refresh tokens. */
export type Redeemed = { readonly surplus: readonly Readonly<Record<"signOnId" | "sessionId", string>>[] };

const mostRefreshTokens = 100;

type RedemptionKey = ReturnType<typeof redemptionKey>;

const hexOf = (token: string | undefined) => (token === undefined ? undefined : hashToken(token).toString("hex"));

const redemptionKey = (
  { code, sessionId }: CodeIn,
  { now, access, refresh, refreshKey, end }: NewTokens & { readonly end: Date },
) => ({
  session: sessionId,
  hash: hashToken(code).toString("hex"),
  now: now.toISOString(),
  ends: end.toISOString(),
  access: hexOf(access.value),
  scope: access.scope,
  resource: keyOf(access),
  access_ends: access.expirationDate.toISOString(),
  jkt: access.jkt,
  refresh: hexOf(refresh?.text),
  refresh_ends: refresh?.expirationDate.toISOString(),
  family: hexOf(refresh && familyOf(refresh.text)),
  refresh_key: refreshKey,
});

// The sign-in is locked before its code, as when it ends; the opposite order would deadlock. So would a shared lock: the family of refresh
// tokens is a key, and updating a key needs the strongest row lock.
const redemption = (table: CodeIn["table"], whereLocked: "skip locked" | ""): Question => ({
  asked: `hash text, now timestamptz, ends timestamptz, access text, scope text, resource jsonb, access_ends timestamptz, jkt text, refresh text,
    refresh_ends timestamptz, family text, refresh_key text`,
  parts: `held as materialized (
  select asked.*, o.sign_on_id, o.session_id, o.user_id, o.app_id
  from asked join ${table} c on c.hash = decode(asked.hash, 'hex') join sign_ons o on o.sign_on_id = c.sign_on_id
  order by o.sign_on_id for update of o ${whereLocked}
),
used as (
  update ${table} c set used = held.now from held
  where c.hash = decode(held.hash, 'hex') and c.used is null and c.expiration_date > held.now returning held.*
),
kept as (
  update sign_ons o set expiration_date = greatest(o.expiration_date, used.ends),
    refresh_family = coalesce(decode(used.family, 'hex'), o.refresh_family), jkt = coalesce(o.jkt, used.refresh_key)
  from used where o.sign_on_id = used.sign_on_id and (used.family is not null or o.expiration_date < used.ends)
),
served as (
  insert into session_applications (session_id, app_id, created)
  select session_id, app_id, now from used on conflict do nothing
),
accessed as (
  insert into sign_on_tokens (hash, sign_on_id, scope, resource, jkt, created, expiration_date)
  select decode(access, 'hex'), sign_on_id, scope, resource, jkt, now, access_ends from used
),
refreshed as (
  insert into refresh_tokens (hash, sign_on_id, in_family, expiration_date)
  select decode(refresh, 'hex'), sign_on_id, true, refresh_ends from used where refresh is not null
)`,
  // The statement sees the table as it was before its own writes.
  select: `select n, coalesce((
    select json_agg(json_build_object('signOnId', e.sign_on_id, 'sessionId', e.session_id)) from (
      select o.sign_on_id, o.session_id from sign_ons o
      where used.refresh is not null and o.user_id = used.user_id and o.app_id = used.app_id and o.refresh_family is not null
      order by o.sign_on_id desc offset ${mostRefreshTokens - 1} limit 10
    ) e), '[]') as surplus from used`,
});

const keyOf = ({ resource }: Pick<AccessToken, "resource">): ResourceKey | undefined =>
  resource && resourceKeys([resource])[0];

const storedKeyOf = (access: AccessToken): string | null => (access.resource ? JSON.stringify(keyOf(access)) : null);

/** Whether a code was exchanged; if its sign-in ended, the code is gone. */
export async function isUsed(sql: Sql, { code, table }: Pick<CodeIn, "code" | "table">): Promise<boolean> {
  const rows = await sql`select from ${sql.unsafe(table)} where hash = ${hashToken(code)} and used is not null`;
  return rows.length > 0;
}

/** A refresh token to replace, and its successor. */
export type Replacement = { readonly old: string; readonly successor: RefreshToken; readonly sealed: Uint8Array };

/**
 * Replaces a refresh token and writes an access token; false if another request was first. The sign-in is locked first, as above, and lasts
 * as long as the tokens: the application may have had other lifetimes when it began.
 */
export async function replaceRefresh(sql: Sql, { old, successor, sealed }: Replacement, access: AccessToken) {
  const { created: now } = access;
  const end = successor.expirationDate > access.expirationDate ? successor.expirationDate : access.expirationDate;
  const rows = await sql`
    with held as materialized (
      select o.sign_on_id from refresh_tokens r join sign_ons o on o.sign_on_id = r.sign_on_id
      where r.hash = ${hashToken(old)} for key share of o
    ),
    replaced as (
      update refresh_tokens r set replaced = ${now}, successor = ${sealed} from held
      where r.hash = ${hashToken(old)} and r.replaced is null returning r.sign_on_id
    ),
    accessed as (
      insert into sign_on_tokens (hash, sign_on_id, scope, resource, jkt, created, expiration_date)
      select ${hashToken(access.value)}, sign_on_id, ${access.scope}, ${storedKeyOf(access)}::text::jsonb,
        ${access.jkt ?? null}::text, ${now}, ${access.expirationDate} from replaced
    ),
    refreshed as (
      insert into refresh_tokens (hash, sign_on_id, in_family, expiration_date)
      select ${hashToken(successor.text)}, sign_on_id, ${familyOf(successor.text) !== undefined},
        ${successor.expirationDate} from replaced
    ),
    kept as (
      update sign_ons o set expiration_date = ${end} from replaced
      where o.sign_on_id = replaced.sign_on_id and o.expiration_date < ${end}
    )
    select from replaced`;
  return rows.length > 0;
}

/** Writes an access token of a sign-in; false if the sign-in has ended. */
export async function writeAccessToken(sql: Sql, signOnId: string, access: AccessToken): Promise<boolean> {
  const made = await sql`
    with kept as (
      update sign_ons o set expiration_date = ${access.expirationDate}
      where o.sign_on_id = ${signOnId} and o.expiration_date < ${access.expirationDate}
    )
    insert into sign_on_tokens (hash, sign_on_id, scope, resource, jkt, created, expiration_date)
    select ${hashToken(access.value)}, o.sign_on_id, ${access.scope}, ${storedKeyOf(access)}::text::jsonb,
      ${access.jkt ?? null}::text, ${access.created}, ${access.expirationDate}
    from sign_ons o where o.sign_on_id = ${signOnId}`;
  return made.count === 1;
}

/** Seals a refresh token for a client that presents its predecessor again. */
export const sealSuccessor = (keyring: Keyring, old: string, successor: string): Uint8Array =>
  keyring.seal(Buffer.from(successor), contextOf(old));

/** Opens the successor of a refresh token, which is in hexadecimal as read. */
export const openSuccessor = (keyring: Keyring, old: string, sealed: string): string =>
  Buffer.from(keyring.open(Buffer.from(sealed, "hex"), contextOf(old))).toString("utf8");

const contextOf = (old: string) => `refresh token ${hashToken(old).toString("hex")}`;
