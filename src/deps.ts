import { randomBytes } from "node:crypto";
import { createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import type { Violation } from "./errors.ts";
import type { NoteAttempt } from "./events/attempts.ts";
import type { OpenFactCache } from "./events/fact_cache.ts";
import type { IdempotencyRecord, Log, Origin } from "./events/log.ts";
import type { Language } from "./messages/catalogue.ts";
import type { Sql } from "./postgres/pool/connect.ts";
import type { MakeFailureRate } from "./security/failure_rate.ts";
import type { Secrets } from "./security/secrets.ts";
import { type Share, unknownCallers } from "./security/turns.ts";

export type Deps = {
  /** The log of facts: `append` ends every write. */
  readonly log: Log<Call>;
  readonly sql: Sql;
  /** The time, in whole milliseconds. */
  readonly clock: () => Date;
  readonly ids: () => string;
  readonly secrets: Secrets;
  /** Opens a cache whose values are dropped by facts. */
  readonly factCache: OpenFactCache;
  /** Makes the failure counts for a limit of the node. */
  readonly failureRate: MakeFailureRate;
  /** Notes a refused attempt, for the log. */
  readonly noteAttempt: NoteAttempt<Call>;
};

/** A call, as guards and handlers see it. */
export type Call = Pick<HandlerContext, "values" | "signal"> & { readonly requestHeader: Pick<Headers, "get"> };

/** A role held somewhere, and the permissions it gives there. */
export type Membership = {
  readonly scope: "instance" | "organization" | "project" | "project_grant";
  /** The instance, organization, project or project grant. */
  readonly id: string;
  /**
   * The organization in which the role counts: the organization itself, the project's owner, or the grantee; for the instance, the
   * instance.
   */
  readonly organization: string;
  /** The project, if the role is held on a project or project grant. */
  readonly project?: string;
  readonly roles: readonly string[];
  /** The permissions that the caller's access token is limited to; absent if it has all of its user's. */
  readonly only?: readonly string[];
};

/** The sign-in to an application for which an access token was issued. */
export type TokenApplication = Readonly<Record<"signOnId" | "appId" | "projectId" | "sessionId", string>> & {
  /** The origins whose pages may read responses to the token. */
  readonly origins: readonly string[];
};

/** The authenticated caller. */
export type Caller = {
  readonly userId: string;
  /** The user's own organization. */
  readonly organization: string;
  /** The session whose token the call presents; absent for a personal access token. */
  readonly sessionId?: string;
  /** The personal access token that the call presents; absent for other tokens. */
  readonly tokenId?: string;
  /** The client secret or key of a machine that the call's access token was issued for; absent for other tokens. */
  readonly machineCredentialId?: string;
  /** The browser session that the console's token depends on; absent for other tokens. */
  readonly consoleSessionId?: string;
  /** Whether the access token is limited to some permissions, and so lacks its user's rights over their own account. */
  readonly isLimited?: true;
  /** The first-party application that the token was issued to; absent for sessions and personal access tokens. */
  readonly application?: TokenApplication;
  /** Whether the session may only enrol a factor. */
  readonly isEnrolling?: true;
  readonly memberships: readonly Membership[];
};

/** How far the caller's permission reaches in this call. */
export type Reach =
  | { readonly whole: true }
  | {
      readonly whole: false;
      readonly organizations: readonly string[];
      readonly projects: readonly string[];
      readonly projectGrants: readonly string[];
    };

/** A rate limit of which more than half is used, and the headers that say so. */
export type NearLimit = { readonly share: number; readonly fields: Readonly<Record<string, string>> };

/** The reason why a request to a route failed: one of a fixed set, which never quotes the request. */
export type RequestFailure = {
  readonly reason: string;
  readonly level: "info" | "warn" | "error";
  /** An error that no client caused, or details for the log beyond the reason. */
  readonly cause?: unknown;
};

/** Context keys of the values that guards set for handlers. */
export const keys = {
  requestId: createContextKey<string>("", { description: "request id" }),
  callerRequestId: createContextKey<string | undefined>(undefined, { description: "request id of the caller" }),
  network: createContextKey<string | undefined>(undefined, { description: "network of the client" }),
  address: createContextKey<string | undefined>(undefined, { description: "address of the client" }),
  rateLimit: createContextKey<NearLimit | undefined>(undefined, { description: "limit that is nearest to its end" }),
  caller: createContextKey<Caller | undefined>(undefined, { description: "caller" }),
  needsNoCaller: createContextKey<boolean>(false, {
    description: "whether the call passed the gate of an rpc for anyone",
  }),
  organization: createContextKey<string>("", { description: "organization worked in" }),
  reach: createContextKey<Reach>({ whole: true }, { description: "reach of the permission" }),
  ownsInstance: createContextKey<boolean>(false, {
    description: "whether the caller holds instance.write on the instance",
  }),
  language: createContextKey<Language | undefined>(undefined, { description: "language asked for" }),
  written: createContextKey<boolean>(false, { description: "whether a command of the call was written" }),
  failure: createContextKey<RequestFailure | undefined>(undefined, { description: "failure of a request at a route" }),
  clientId: createContextKey<string | undefined>(undefined, {
    description: "client that a request was proven to be of",
  }),
  clientOwner: createContextKey<string>("", { description: "organization of a client that proved who it is" }),
  wrongItems: createContextKey<readonly Violation[]>([], {
    description: "violations inside the items of a batch, for their outcomes",
  }),
  idempotency: createContextKey<IdempotencyRecord | undefined>(undefined, { description: "idempotency record" }),
};

/** The request id in a call's response: the caller's if the rpc returns that, otherwise our own. */
export const shownRequestId = (values: Call["values"]): string =>
  values.get(keys.callerRequestId) ?? values.get(keys.requestId);

/** A call made by the process itself, without a caller; or made later, on behalf of a call with this origin. */
export const systemCall = (requestId: string, { address, userAgent = null }: ClientOrigin = {}): Call => ({
  values: createContextValues().set(keys.requestId, requestId).set(keys.address, address),
  signal: new AbortController().signal,
  requestHeader: { get: (name) => (name === "user-agent" ? userAgent : null) },
});

type ClientOrigin = { readonly address?: string; readonly userAgent?: string | null };

/** The caller; only for operations that require one. */
export function callerOf(call: Pick<Call, "values">): Caller {
  const caller = call.values.get(keys.caller);
  if (!caller) throw new Error("an operation without a caller asked for it");
  return caller;
}

/** The organization that the call works in: the header's, that of the user in the request, or the instance. */
export const organizationOf = (call: Pick<Call, "values">): string => call.values.get(keys.organization);

/**
 * The share of capacity that the call uses: first the organization worked in, or that of the application, then the caller; unknown callers
 * form one group, divided by network.
 */
export function shareOf({ values }: Pick<Call, "values">): Share {
  const caller = values.get(keys.caller);
  if (!caller) return [values.get(keys.clientOwner) || unknownCallers, values.get(keys.network) ?? ""];
  return [values.get(keys.organization) || caller.organization, caller.userId];
}

/** The maximum length of a stored User-Agent header. */
export const userAgentMax = 200;

/** The origin of the call; undefined if the process makes it. */
export function callOrigin({ values, requestHeader }: Call): Origin | undefined {
  const address = values.get(keys.address);
  const userAgent = requestHeader.get("user-agent")?.slice(0, userAgentMax);
  const { sessionId, tokenId, consoleSessionId, application, machineCredentialId } = values.get(keys.caller) ?? {};
  const session = sessionId ?? consoleSessionId ?? application?.sessionId;
  const origin: Origin = {
    ...(address === undefined ? {} : { address }),
    ...(userAgent ? { userAgent } : {}),
    ...(session === undefined ? {} : { sessionId: session }),
    ...(tokenId === undefined ? {} : { accessTokenId: tokenId }),
    ...(machineCredentialId === undefined ? {} : { machineCredentialId }),
  };
  return Object.keys(origin).length > 0 ? origin : undefined;
}

/** Whether the caller has `instance.write` on the instance; only for operations whose access option asks for it. */
export const ownsInstance = (call: Pick<Call, "values">): boolean => call.values.get(keys.ownsInstance);

/** How far the caller's permission reaches. */
export const reachOf = (call: Pick<Call, "values">): Reach => call.values.get(keys.reach);

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const codes = Buffer.from(alphabet);
const randomLength = 14;

let drawn = "";
let used = 0;

// Random bytes are fetched for many ids at once, at a tenth of the cost of fetching them for each.
function randomness(): string {
  if (used === drawn.length) {
    const bytes = randomBytes(randomLength * 256);
    for (let at = 0; at < bytes.length; at++) bytes[at] = codes[(bytes[at] ?? 0) & 31] ?? 0;
    drawn = bytes.toString("latin1");
    used = 0;
  }
  used += randomLength;
  return drawn.slice(used - randomLength, used);
}

let last = { at: -1, text: "" };

/** Encodes the time in ten characters, with two spare bits in the last one. */
function timeOf(now: number): string {
  if (last.at === now) return last.text;
  let text = "";
  for (let rest = now * 4; text.length < 10; rest = Math.floor(rest / 32)) text = (alphabet[rest % 32] ?? "") + text;
  last = { at: now, text };
  return text;
}

/** Ids have 24 characters: first the time, so that they sort by it, then random ones. */
export const newId = (now: number = Date.now()): string => timeOf(now) + randomness();
