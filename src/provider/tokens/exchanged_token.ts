import type { Origin } from "../../events/log.ts";
import { foreignKey } from "../../postgres/failure.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken, newToken } from "../../security/token.ts";
import { acrOf } from "../../services/callers/authentication_class.ts";
import { wordsOf } from "../http/parameters.ts";
import { secondsOf } from "../http/settings.ts";
import type { Client } from "../request/client.ts";
import type { ProvenMachine } from "../request/machine.ts";
import { isForeign } from "../request/own_client.ts";
import { type ResourceKey, resourceKeys, scopeFor } from "../request/resource.ts";
import { type Claims, fitted } from "./claims_size.ts";
import { type AskedDelegation, type ExchangedLink, linkRead } from "./delegation_read.ts";
import { signJwt } from "./jwt.ts";
import type { TokenMaker } from "./tokens.ts";

/** The maximum number of machines in a chain of actors. */
export const mostActors = 3;

/**
 * Makes the read of an exchanged token. It is valid only if every token that it derives from is, and loses each scope that one of those has
 * lost.
 */
export function exchangedTokenRead(sql: Sql) {
  const read = linkRead(sql);
  const inForce = async (hash: string, now: string): Promise<ExchangedLink | undefined> => {
    const link = await read({ hash, now });
    if (!link) return undefined;
    const subjectScope = await subjectScopeOf(link, now);
    return subjectScope === undefined ? undefined : { ...link, scope: leftOf(link, subjectScope) };
  };
  const subjectScopeOf = async ({ subject, subjectScope, served, signOn }: ExchangedLink, now: string) =>
    subjectScope === null ? (await inForce(subject, now))?.scope : scopeFor(served, subjectScope, signOn.roles);
  return (value: string, now: Date) => inForce(hashToken(value).toString("hex"), now.toISOString());
}

/** The scope of a token, as far as the machine and the user have the roles for it, and the subject token has it. */
function leftOf({ resource, scope, roles }: ExchangedLink, subjectScope: string): string {
  const had = wordsOf(subjectScope);
  return wordsOf(scopeFor(resource, scope, roles))
    .filter((word) => had.includes(word))
    .join(" ");
}

/** The claim `act` (RFC 8693, 4.1): the machine that acts, and nested in it those that acted before. */
export const actOf = ([machine, ...earlier]: readonly string[]): Claims =>
  earlier.length === 0 ? { sub: machine } : { sub: machine, act: actOf(earlier) };

/** The input of a new token: a machine with its credential, its access, the subject token, and the time limit. */
export type ExchangedTokenOf = ProvenMachine & {
  readonly delegation: AskedDelegation;
  /** The hash of the subject token. */
  readonly subject: Buffer;
  readonly served: ResourceKey;
  readonly acted: readonly string[];
  readonly scope: string;
  readonly now: Date;
  /** The origin of the request. */
  readonly origin: Origin | undefined;
  /** In seconds since 1970. */
  readonly subjectEnds: number;
};

/** A token of a machine on behalf of a user: its text, the value whose hash identifies its row, and its lifetime in seconds. */
export type ExchangedToken = Readonly<Record<"text" | "value", string>> & { readonly seconds: number };

/** Makes a token on behalf of a user: opaque, or a JWT if its API wants those. */
export async function newExchangedToken(maker: TokenMaker, of: ExchangedTokenOf): Promise<ExchangedToken> {
  const { resource, roles } = of.delegation;
  const seconds = secondsOfToken(maker, of);
  if (!resource.isJwt) {
    const text = newToken("oa");
    return { text, value: text, seconds };
  }
  const jti = maker.ids();
  const required = claimsOf(maker, of, { jti, seconds });
  const claims = fitted({ required, profile: {}, roles: { roles }, declared: {} });
  return {
    text: await signJwt(maker.keys, { type: "at+jwt", algorithm: resource.algorithm, claims }),
    value: jti,
    seconds,
  };
}

/**
 * The token ends no later than the subject token, the credential, and the first grant of the machine or the user. That includes the user's
 * grants in the project signed in to, because an opaque subject token ends with such a grant without stating when.
 */
function secondsOfToken({ settings }: TokenMaker, { credential, delegation, subjectEnds, now }: ExchangedTokenOf) {
  const ofCredential = credential.expires === null ? null : Math.floor(credential.expires / 1000);
  const ends = [ofCredential, delegation.grantsEnd, delegation.signOn.grantsEnd, subjectEnds];
  const left = ends.filter((end) => end !== null).map((end) => end - secondsOf(now));
  return Math.max(1, Math.min(settings.oauthTokenLifetimeSeconds, ...left));
}

/** The claims of a JWT (RFC 9068, 2.2), with the actor. */
function claimsOf(
  { issuer }: TokenMaker,
  { machine, delegation, acted, scope, now }: ExchangedTokenOf,
  { jti, seconds }: { readonly jti: string; readonly seconds: number },
) {
  const { signOn, resource } = delegation;
  return {
    iss: issuer(),
    aud: resource.uri,
    iat: secondsOf(now),
    exp: secondsOf(now) + seconds,
    sub: signOn.userId,
    act: actOf([machine.userId, ...acted]),
    jti,
    client_id: machine.clientId,
    scope,
    auth_time: signOn.authTime,
    acr: acrOf(signOn.methods),
    amr: signOn.methods,
    "urn:postern:organization:id": signOn.organizationId,
  };
}

/** The response of introspection about a token on behalf of a user. */
export const exchangedClaims = (
  issuer: string,
  { client, found }: { client: Client; found: ExchangedLink },
): Claims => ({
  active: true,
  scope: found.scope,
  sub: found.signOn.userId,
  act: actOf([found.machineId, ...found.acted]),
  ...(isForeign(client, found.signOn.userOwner) ? {} : { username: found.signOn.qualifiedName }),
  aud: found.resource.uri,
  iss: issuer,
  iat: found.issuedAt,
  exp: found.expiresAt,
  token_type: "Bearer",
  client_id: found.clientId,
  "urn:postern:organization:id": found.signOn.organizationId,
  roles: found.roles,
});

const mostOfSignOn = 100;
const actedDays = 90;

/**
 * Writes the machine's use of its credential, and its token on behalf of a user; false if the sign-in has ended. If a sign-in has too many
 * tokens, the oldest end.
 */
export async function writeExchanged(sql: Sql, of: ExchangedTokenOf, token: ExchangedToken): Promise<boolean> {
  const used = await writeUse(sql, of).catch(ended);
  const made = used && (await writeToken(sql, of, token).catch(ended));
  if (made?.count === 1) return true;
  await forgetUse(sql, of);
  return false;
}

// A user who disconnects the application between the two statements has ended its rows with its sign-ins. As long as the user has another
// sign-in there, the row may be that of an exchange beside this one.
const forgetUse = (sql: Sql, { machine, delegation: { signOn, resource }, now }: ExchangedTokenOf) => sql`
  delete from acting_machines where user_id = ${signOn.userId} and app_id = ${signOn.appId}
    and machine_id = ${machine.userId} and api_id = ${resource.appId} and first_used = ${now}
    and not exists (select from sign_ons o where o.user_id = ${signOn.userId} and o.app_id = ${signOn.appId})`;

// A statement of its own: deleting a user removes these rows first and sign-ins last; the opposite order would deadlock.
const writeUse = (
  sql: Sql,
  { machine, credential, origin, delegation: { signOn, resource }, now }: ExchangedTokenOf,
) => sql`
    with used as (
      update machine_proofs k set last_used = ${now}, last_used_origin = ${origin ? JSON.stringify(origin) : null}::text::jsonb
      where k.credential_id = ${credential.id} and coalesce(k.last_used, '-infinity') <= ${now}::timestamptz - interval '1 hour'
    )
    insert into acting_machines as a (user_id, app_id, machine_id, api_id, first_used, last_used, expiration_date)
    select o.user_id, o.app_id, ${machine.userId}, ${resource.appId}, ${now}::timestamptz, ${now}::timestamptz,
      ${now}::timestamptz + ${actedDays} * interval '1 day' from sign_ons o where o.sign_on_id = ${signOn.signOnId}
    on conflict (user_id, app_id, machine_id, api_id) do update
      set last_used = excluded.last_used, expiration_date = excluded.expiration_date
      where a.last_used <= excluded.last_used - interval '1 hour'`;

function writeToken(sql: Sql, of: ExchangedTokenOf, { value, seconds }: ExchangedToken) {
  const { machine, credential, delegation, now } = of;
  const ends = new Date(now.getTime() + seconds * 1000);
  const [key] = resourceKeys([delegation.resource]);
  return sql`
    with held as materialized (
      select o.sign_on_id from sign_ons o where o.sign_on_id = ${delegation.signOn.signOnId} for key share
    ),
    surplus as (
      delete from exchanged_tokens where hash = any(array(
        select x.hash from exchanged_tokens x where x.hash = any(array(
          select o.hash from held cross join lateral (
            select y.hash from exchanged_tokens y where y.sign_on_id = held.sign_on_id
            order by y.created desc offset ${mostOfSignOn - 1} limit 10) o))
        for update skip locked))
    )
    insert into exchanged_tokens (hash, subject, sign_on_id, user_id, credential_id, acted, served, resource, scope, created,
      expiration_date)
    select ${hashToken(value)}, ${of.subject}, sign_on_id, ${machine.userId}, ${credential.id}, ${of.acted as string[]},
      ${JSON.stringify(of.served)}::text::jsonb, ${JSON.stringify(key)}::text::jsonb, ${of.scope}, ${now}, ${ends} from held`;
}

/** While a token is being written, its sign-in may end and its user be deleted. */
function ended(error: unknown): undefined {
  if (foreignKey(error) === undefined) throw error;
}
