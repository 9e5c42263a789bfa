import type { Deps } from "../../deps.ts";
import { asking, loadOne, type Question } from "../../events/load.ts";
import type { Origin } from "../../events/log.ts";
import { foreignKey } from "../../postgres/failure.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hashToken, newToken } from "../../security/token.ts";
import { userInForce } from "../../services/callers/in_force.ts";
import { OauthError } from "../http/oauth_error.ts";
import { required } from "../http/parameters.ts";
import { later, type ProviderSettings, secondsOf } from "../http/settings.ts";
import type { Client } from "../request/client.ts";
import type { Authenticate, TokenQuestion } from "../request/client_authentication.ts";
import { consoleClient, consoleUri } from "../request/console_client.ts";
import { isGrantType, refuseGrantType } from "../request/grant_type.ts";
import { isVerifier } from "./code_grant.ts";
import { notInForce, type TokenResponse } from "./grant_exchange.ts";

/** How long a token of the console is valid, unless its browser session ends before. */
export const consoleTokenSeconds = 600;

/** The maximum number of codes and tokens of the console per browser session; the next one ends the oldest, and its tab gets another. */
const mostOfSession = 100;

type CodeParts = {
  readonly deps: Pick<Deps, "sql" | "clock">;
  readonly settings: Pick<ProviderSettings, "codeLifetimeSeconds" | "browserSessionIdleSeconds">;
};

/** A browser session in which the console asks for a code, the origin of the request, and its challenge. */
export type ConsoleRequest = {
  readonly sessionId: string;
  readonly challenge: string;
  readonly origin: Origin | undefined;
  /** Whether no user has to be present: an open page that renews by itself does not keep an unused session alive. */
  readonly isSilent: boolean;
};

/** Makes the codes of the console; undefined if the session has ended. */
export function consoleCodes({ deps: { sql, clock }, settings }: CodeParts) {
  const write = asking<CodeKey, object>(sql, newCode);
  return async ({ sessionId, challenge, origin, isSilent }: ConsoleRequest): Promise<string | undefined> => {
    const [code, now] = [newToken("oc"), clock()];
    const codeEnd = later(now, settings.codeLifetimeSeconds);
    const key = {
      session: sessionId,
      hash: hexOf(code),
      challenge,
      now: now.toISOString(),
      idle: isSilent ? undefined : later(now, settings.browserSessionIdleSeconds).toISOString(),
      origin,
      code_ends: codeEnd.toISOString(),
      ends: later(codeEnd, consoleTokenSeconds).toISOString(),
    };
    try {
      const made = await write([key]);
      return made.length === 1 ? code : undefined;
    } catch (error) {
      // The session may end while the code is being written.
      if (foreignKey(error) === "console_sign_ons_session") return undefined;
      throw error;
    }
  };
}

type CodeKey = Readonly<Record<"session" | "hash" | "challenge" | "now" | "code_ends" | "ends", string>> & {
  readonly idle: string | undefined;
  readonly origin: Origin | undefined;
};

// The row lasts as long as a token that the code may still yield.
const newCode: Question = {
  asked: `session text, hash text, challenge text, now timestamptz, idle timestamptz, origin jsonb, code_ends timestamptz,
    ends timestamptz`,
  parts: `found as materialized (
  select asked.*, b.expiration_date
  from asked join browser_sessions b on b.session_id = asked.session and b.expiration_date > asked.now
    join sessions s on s.session_id = b.session_id and not s.enrolment_only
    join users u on u.user_id = b.user_id and ${userInForce}
  for key share of b
),
kept as (
  update browser_sessions b set idle_date = found.idle, last_used = found.now, last_used_origin = found.origin from found
  where b.session_id = found.session and b.idle_date < found.idle - interval '5 minutes'
),
-- Rows that others are about to exchange or to delete are left to the next one.
over as (
  delete from console_sign_ons where code_hash = any(array(
    select c.code_hash from console_sign_ons c where c.code_hash = any(array(
      select o.code_hash from found cross join lateral (
        select c.code_hash from console_sign_ons c where c.session_id = found.session
        order by c.expiration_date desc offset ${mostOfSession - 1}) o))
    for update skip locked))
),
made as (
  insert into console_sign_ons (code_hash, session_id, challenge, code_expiration_date, expiration_date)
  select decode(hash, 'hex'), session, challenge, code_ends, least(ends, expiration_date) from found
)`,
  select: "select n from found",
};

/** The response to the console's code. It has no refresh token, because the session of the browser yields the next code. */
export type ConsoleToken = Pick<TokenResponse, "access_token" | "token_type" | "expires_in">;

type TokenParts = { readonly deps: Deps; readonly issuer: () => string; readonly authenticate: Authenticate };

/** Makes the exchange of the console's codes, the only grant of the console at the token endpoint. */
export function consoleGrant({ deps, issuer, authenticate }: TokenParts) {
  const { sql, clock } = deps;
  const [find, redeem] = [codeRead(sql), redemption(sql)];
  return async (request: TokenQuestion): Promise<ConsoleToken> => {
    const { form } = request;
    const client = await authenticate(consoleClient(issuer()), request);
    refuseOtherGrant(client, form.get("grant_type"));
    const [code, now] = [required(form, "code", longestCode), clock()];
    const found = await find({ hash: hexOf(code) });
    if (!found || form.get("redirect_uri") !== consoleUri(issuer())) throw notInForce();
    if (!isVerifier(found.challenge, form.get("code_verifier"))) throw notInForce();
    if (found.isUsed) throw await usedAgain(code);
    if (found.codeEnd <= now) throw notInForce();
    const [token, latest] = [newToken("cn"), later(now, consoleTokenSeconds)];
    const end = found.sessionEnd < latest ? found.sessionEnd : latest;
    if (!(await redeem({ code, token, end }))) throw await usedAgain(code);
    return { access_token: token, token_type: "Bearer", expires_in: secondsOf(end) - secondsOf(now) };
  };

  /** If a code is presented twice, one of the two callers stole it, so its token ends; the real user has a session to get another. */
  async function usedAgain(code: string): Promise<OauthError> {
    await sql`delete from console_sign_ons where code_hash = ${hashToken(code)}`;
    return notInForce();
  }
}

const longestCode = 200;

const hexOf = (value: string): string => hashToken(value).toString("hex");

type FoundCode = {
  readonly challenge: string;
  readonly isUsed: boolean;
  readonly codeEnd: Date;
  readonly sessionEnd: Date;
};

/** Reads a code whose session is in force. */
const codeRead = (sql: Sql) =>
  loadOne<{ hash: string }, FoundCode>(sql, {
    asked: "hash text",
    select: `select n, c.challenge, c.token_hash is not null as "isUsed", c.code_expiration_date as "codeEnd",
        b.expiration_date as "sessionEnd"
      from asked join console_sign_ons c on c.code_hash = decode(asked.hash, 'hex')
      join browser_sessions b on b.session_id = c.session_id
      join sessions s on s.session_id = c.session_id
      join users u on u.user_id = b.user_id and ${userInForce}`,
  });

/** Makes the write that exchanges a code for a token; false if another request was first, or the session has ended since. */
const redemption =
  (sql: Sql) =>
  async ({ code, token, end }: { readonly code: string; readonly token: string; readonly end: Date }) => {
    const done = await sql`
      update console_sign_ons set token_hash = ${hashToken(token)}, expiration_date = ${end}
      where code_hash = ${hashToken(code)} and token_hash is null`;
    return done.count === 1;
  };

function refuseOtherGrant(client: Client, name: string | undefined): void {
  if (name === undefined || !isGrantType(name))
    throw new OauthError("unsupported_grant_type", "grant_type must be authorization_code");
  refuseGrantType(client, name);
}
