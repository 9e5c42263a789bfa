import { keys } from "../../deps.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken, newToken } from "../../security/token.ts";
import { attemptKey, minuteOf, secondsUntilNext } from "../device/device_attempts.ts";
import { ClientRefused, OauthError } from "../http/oauth_error.ts";
import { type Parameters, parametersIn, queryMaxLength } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { later } from "../http/settings.ts";
import { PageError } from "../pages/page_error.ts";
import { noteClient } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { authorizationRequest } from "../request/authorization_request.ts";
import { type Client, isPublic } from "../request/client.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { isAdmitted } from "../request/document_id.ts";
import { dpopProofs } from "../request/dpop_proof.ts";
import { longestMark, pushedPrefix, pusherOf } from "../request/pushed_request.ts";
import { requestProof } from "../request/request_proof.ts";
import { clientRead } from "../tokens/grant_read.ts";

/** The response of the pushed authorization request endpoint (RFC 9126, 2.2). */
export type PushedAuthorization = { readonly request_uri: string; readonly expires_in: number };

type Parts = Pick<ProviderParts, "deps" | "settings" | "issuer" | "readDocument"> & {
  readonly authenticate: Authenticate;
};

const lifetimeSeconds = 60;
/** How many unopened requests one application may have. */
const mostWaiting = 10_000;
const unlimited = 2 ** 31 - 1;

/** Makes the handler of the pushed authorization request endpoint: it stores a request that would be accepted, for a browser to open. */
export function pushedRequestEndpoint(parts: Parts) {
  const { deps, settings, issuer, authenticate } = parts;
  const { sql, clock, secrets } = deps;
  const [clientOf, prove, proofs] = [clientRead(sql), requestProof(parts), dpopProofs(deps, issuer)];

  return async (question: TokenQuestion): Promise<PushedAuthorization> => {
    const { form, proof, call, onClient, dpop } = question;
    await refuseUnproven(question);
    const key = dpop === undefined ? undefined : await proofs.checked({ proof: dpop, ...here });
    const query = queryOf(form, proof.clientId, key?.jkt);
    const [token, now, network] = [newToken("oq"), clock(), call.values.get(keys.network)];
    const client = await clientOfRight(query, network);
    noteClient(call.values, client);
    onClient(client);
    const isCounted = isPublic(client) && network !== undefined;
    const written = await write(sql, {
      hash: hashToken(token),
      appId: pusherOf(client),
      query,
      now,
      expirationDate: later(now, lifetimeSeconds),
      key: attemptKey(secrets.keyring, "pushed requests", network),
      isCounted,
      most: isCounted ? settings.pushedRequestsPerAddressPerMinute : unlimited,
    });
    if (!written.isAllowed) throw tooMany("this address", secondsUntilNext(now));
    if (written.isFull && !isCounted) throw tooMany("this application", secondsUntilNext(now));
    // The proof is used up last: anybody can sign any number of proofs, and only pushes are limited by address.
    if (key) await proofs.used(key);
    return { request_uri: pushedPrefix + token, expires_in: lifetimeSeconds };
  };

  /** Fails for a client that does not authenticate as registered; one with a document has nothing to authenticate with. */
  async function refuseUnproven(claim: TokenQuestion): Promise<void> {
    const { clientId, method } = claim.proof;
    if (!isAdmitted(settings, clientId)) await authenticate(await clientOf(clientId, clock()), claim);
    else if (method !== "none") throw new ClientRefused("a client with a document of its own used a secret or a key");
  }

  /** The client of a request; fails for a request that the authorization endpoint would refuse (RFC 9126, 2.1). */
  async function clientOfRight(query: string, network: string | undefined): Promise<Client> {
    // With one more parameter: opening the request adds a mark.
    const parameters = parametersIn(`${query}&`);
    try {
      return authorizationRequest(await prove(parameters, clock(), network), parameters, issuer()).client;
    } catch (error) {
      if (!(error instanceof PageError)) throw error;
      if (error.problem === "busy")
        throw tooMany("this address, or others at the host of the document,", secondsUntilNext(clock()));
      throw new OauthError("invalid_request", `the authorization endpoint would refuse it: ${error.problem}`);
    }
  }
}

const here = { method: "POST", path: paths.pushedAuthorization };

const ofClient: readonly string[] = ["client_id", "client_secret", "client_assertion", "client_assertion_type"];

/** The query that a browser would have sent: the form without the client's credentials, and with the key that it proved. */
function queryOf(form: Parameters, clientId: string, jkt: string | undefined): string {
  if (form.get("request_uri") !== undefined)
    throw new OauthError("invalid_request", "request_uri cannot be pushed: push the parameters themselves");
  const named = form.get("dpop_jkt");
  if (jkt !== undefined && named !== undefined && named !== jkt)
    throw new OauthError("invalid_dpop_proof", "the DPoP proof is of another key than dpop_jkt");
  const pushed = form.names.flatMap((name) => form.all(name).map((value): [string, string] => [name, value]));
  const proven: [string, string][] = jkt === undefined || named === jkt ? [] : [["dpop_jkt", jkt]];
  const query = new URLSearchParams([
    ["client_id", clientId],
    ...proven,
    ...pushed.filter(([name]) => !ofClient.includes(name) && !name.startsWith("urn:postern:")),
  ]).toString();
  if (query.length > queryMaxLength - longestMark)
    throw new OauthError("invalid_request", `the request is longer than ${queryMaxLength - longestMark} characters`);
  return query;
}

const tooMany = (where: string, retrySeconds: number) =>
  new OauthError("temporarily_unavailable", `${where} pushed too many requests`, retrySeconds);

type NewRequest = {
  readonly hash: Buffer;
  readonly appId: string;
  readonly query: string;
  readonly now: Date;
  readonly expirationDate: Date;
  /** The key under which the network's requests are counted, if they are, and the limit per minute. */
  readonly key: Buffer;
  readonly isCounted: boolean;
  readonly most: number;
};

type Written = { readonly isAllowed: boolean; readonly isFull: boolean };

/**
 * Writes a request if its network and application may have another one. Anybody can push for an application without a secret, so there the
 * oldest request makes room: it had the longest time to be opened, and nobody can lock others out by pushing from many addresses.
 */
async function write(sql: Sql, request: NewRequest): Promise<Written> {
  const { now, key, isCounted, most } = request;
  const [written] = await sql<Written[]>`
    with counted as (
      insert into device_attempts as a (key, minute, attempts) select ${key}, ${minuteOf(now)}, 1 where ${isCounted}::boolean
      on conflict (key, minute) do update set attempts = a.attempts + 1 where a.attempts < ${most}
      returning key
    ),
    state as materialized (
      select not ${isCounted}::boolean or exists (select from counted) as "isAllowed",
        exists (select from pushed_requests where app_id = ${request.appId} and expiration_date > ${now}
          offset ${mostWaiting - 1}) as "isFull"
    ),
    ended as (
      delete from pushed_requests where hash = any(array(
        select p.hash from pushed_requests p
        where ${isCounted}::boolean and (select "isAllowed" and "isFull" from state)
          and p.app_id = ${request.appId} and p.expiration_date > ${now}
        order by p.expiration_date limit 1 for update skip locked))
    ),
    made as (
      insert into pushed_requests (hash, app_id, query, expiration_date)
      select ${request.hash}, ${request.appId}, ${request.query}, ${request.expirationDate} from state
      where "isAllowed" and (${isCounted}::boolean or not "isFull")
    )
    select "isAllowed", "isFull" from state`;
  if (!written) throw new Error("a statement that answers one row answered none");
  return written;
}
