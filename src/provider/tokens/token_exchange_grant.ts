import { callOrigin } from "../../deps.ts";
import { hashToken } from "../../security/token.ts";
import { hrefOf } from "../../services/callers/resource_in_force.ts";
import { OauthError } from "../http/oauth_error.ts";
import { bounded, jwtMaxLength, type Parameters, required, wordsOf } from "../http/parameters.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { machineAuthentication, machineClientRead } from "../request/machine.ts";
import { type Resource, resourceKeys, scopeFor } from "../request/resource.ts";
import { longestResource } from "../request/target.ts";
import { delegationBegins } from "./delegation_begin.ts";
import { type Delegation, delegationRead, servesRead } from "./delegation_read.ts";
import {
  type ExchangedTokenOf,
  exchangedTokenRead,
  mostActors,
  newExchangedToken,
  writeExchanged,
} from "./exchanged_token.ts";
import type { ExchangeParts, TokenResponse } from "./grant_exchange.ts";
import { clientRead, isUnaccepted, tokenRead } from "./grant_read.ts";
import { storedValueRead } from "./stored_value.ts";

const accessToken = "urn:ietf:params:oauth:token-type:access_token";

type Parts = ExchangeParts & { readonly authenticate: Authenticate };

/** The token exchange (RFC 8693): a machine that was called with a user's token gets a token for another API on behalf of that user. */
export function tokenExchangeGrant(parts: Parts) {
  const { deps, maker, authenticate } = parts;
  const [clientOf, machineOf] = [clientRead(deps.sql), machineClientRead(deps.sql)];
  const machines = machineAuthentication(deps, maker.issuer);
  const [subjectOf, delegationOf] = [subjectRead(parts), delegationRead(deps.sql)];

  return async (request: TokenQuestion): Promise<TokenResponse> => {
    const { clientId } = request.proof;
    const machine = await machineOf(clientId, deps.clock());
    if (!machine) {
      await authenticate(await clientOf(clientId, deps.clock()), request);
      throw new OauthError("unauthorized_client", "only machines may use this grant type, not applications");
    }
    const proven = await machines.byClaim(machine, request);
    if (request.dpop !== undefined)
      throw new OauthError("invalid_request", "exchanged tokens are bound to no key (DPoP)");
    const [wish, now] = [wishIn(request.form), deps.clock()];
    const subject = await subjectOf(wish.token, machine.userId, now);
    if (!subject) throw notServed();
    if (subject.acted.length >= mostActors)
      throw new OauthError("invalid_request", `${mostActors} machines have acted with the subject token already`);
    const [served] = resourceKeys([subject.resource]);
    if (!served) throw notServed();
    const { signOnId: sign_on_id, acted } = subject;
    const key = { sign_on_id, machine_id: machine.userId, acted, served, href: hrefOf(wish.resource) };
    const delegation = await delegationOf({ ...key, now: now.toISOString() });
    if (!delegation) throw notTarget();
    const scope = grantedScope(wish.scope, subject, delegation);
    const of = { ...proven, ...subject, delegation, served, scope, now, origin: callOrigin(request.call) };
    if (!delegation.hasActed) await delegationBegins(deps, request.call, of);
    return issued(parts, of);
  };
}

async function issued({ deps, maker }: Parts, of: ExchangedTokenOf): Promise<TokenResponse> {
  const token = await newExchangedToken(maker, of);
  if (!(await writeExchanged(deps.sql, of, token))) throw notServed();
  const { text, seconds } = token;
  return {
    access_token: text,
    issued_token_type: accessToken,
    token_type: "Bearer",
    expires_in: seconds,
    scope: of.scope,
  };
}

// A thief does not learn whether the token belongs to somebody else or to nobody.
const notServed = () =>
  new OauthError(
    "invalid_request",
    "the subject token is no bearer token in force of a user for an API that the machine serves",
  );

const notTarget = () =>
  new OauthError(
    "invalid_target",
    "the resource is no API that the machine may call on behalf of users, or the machine or the user has no access to its project",
  );

const longestScope = 2_000;
const longestType = 200;

type Wish = { readonly token: string; readonly resource: string; readonly scope: string | undefined };

/** The parameters of a machine's request (RFC 8693, 2.1). */
function wishIn(form: Parameters): Wish {
  const token = required(form, "subject_token", jwtMaxLength);
  if (required(form, "subject_token_type", longestType) !== accessToken)
    throw new OauthError("invalid_request", `subject_token_type must be ${accessToken}`);
  if ((bounded(form, "requested_token_type", longestType) ?? accessToken) !== accessToken)
    throw new OauthError("invalid_request", `requested_token_type must be ${accessToken}`);
  if (form.get("actor_token") !== undefined || form.get("actor_token_type") !== undefined)
    throw new OauthError("invalid_request", "the machine that authenticates is the actor, without an actor_token");
  if (form.get("audience") !== undefined)
    throw new OauthError("invalid_target", "resource names the API, not audience");
  return { token, resource: required(form, "resource", longestResource), scope: bounded(form, "scope", longestScope) };
}

/** The token of a user that a machine was called with. */
type Subject = {
  readonly subject: Buffer;
  readonly signOnId: string;
  readonly resource: Resource;
  readonly scope: string;
  readonly acted: readonly string[];
  readonly subjectEnds: number;
};

/** Makes the read of a valid subject token that is for an API which the machine serves. */
function subjectRead({ deps, maker }: Parts) {
  const { sql } = deps;
  const [storedOf, tokenOf, exchangedOf] = [
    storedValueRead({ deps, ...maker }),
    tokenRead(sql),
    exchangedTokenRead(sql),
  ];
  const serves = servesRead(sql);

  return async (text: string, machineId: string, now: Date): Promise<Subject | undefined> => {
    const value = await storedOf(text);
    const found = value === undefined ? undefined : ((await direct(value, now)) ?? (await exchanged(value, now)));
    if (!found || !value) return undefined;
    const { appId, uri } = found.resource;
    const served = await serves({ machine_id: machineId, served: { appId, uri } });
    return served && { ...found, subject: hashToken(value) };
  };

  async function direct(value: string, now: Date): Promise<Omit<Subject, "subject"> | undefined> {
    const row = await tokenOf(value, now);
    if (!row?.client.active || !row.found.signOn || !row.found.resource || isUnaccepted(row.found)) return undefined;
    // Nothing here proves the token's key, so it would count as a bearer token, and so would the token exchanged for it.
    if (row.found.jkt !== null) return undefined;
    const { signOn, resource, scope, expiresAt } = row.found;
    const granted = scopeFor(resource, scope, signOn.roles);
    return { signOnId: signOn.signOnId, resource, scope: granted, acted: [], subjectEnds: expiresAt };
  }

  async function exchanged(value: string, now: Date): Promise<Omit<Subject, "subject"> | undefined> {
    const found = await exchangedOf(value, now);
    if (!found) return undefined;
    const { signOn, resource, scope, expiresAt } = found;
    const acted = [found.machineId, ...found.acted];
    return { signOnId: signOn.signOnId, resource, scope, acted, subjectEnds: expiresAt };
  }
}

/**
 * The scope of the new token: within that of the subject token, and of that only what the API declares and both the machine and the user
 * have the roles for. Scopes that tell about the user stay with the application that the user signed in to.
 */
function grantedScope(asked: string | undefined, subject: Subject, { resource, roles }: Delegation): string {
  const had = wordsOf(subject.scope);
  const words = asked === undefined ? had : [...new Set(wordsOf(asked))];
  const wider = words.find((word) => !had.includes(word));
  if (wider !== undefined)
    throw new OauthError("invalid_scope", "scope names something that the subject token does not have");
  const declared = resource.scopes.map(({ name }) => name);
  return scopeFor(resource, words.filter((word) => declared.includes(word)).join(" "), roles);
}
