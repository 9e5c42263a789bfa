import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateAccessTokenRequestSchema,
  ListAccessTokensRequestSchema,
  type UserService,
} from "../../../gen/postern/v1/user_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import {
  type At,
  details,
  detailsAfter,
  factOf,
  first,
  type NewFact,
  next,
  type Versioned,
} from "../../events/fact.ts";
import { type Cascade, type NounFolds, touch } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Origin } from "../../events/log.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { hashToken, newToken } from "../../security/token.ts";
import { userExistsRead } from "../callers/user_exists.ts";
import { creatorId, gainedMeanwhile, gainedRead } from "../members/ended_by_role.ts";
import { countOfSession } from "../passwords/password.ts";
import { cut, type PagePart, pageOf, pageRule } from "../reading/page.ts";
import { withdraw } from "../writing/end_anyway.ts";
import { pastExpiration } from "../writing/expiration.ts";

export const userAccessTokens = ({ log, sql, clock, ids }: Deps) => {
  const userExists = userExistsRead(sql);
  const roomRead = tokenRoomRead(sql);
  const tokenById = tokenRead(sql);
  const gained = gainedRead(sql);

  return {
    async createAccessToken({ userId, expirationDate, name, permissions }, call) {
      const owner = organizationOf(call);
      refuseFull(await roomRead({ owner, id: userId, now: clock().toISOString() }, call.signal), userId);
      const maker = await makerOf(userId, call);
      refuseOutliving(expirationDate, maker);
      const token = newToken("pt");
      const at = first(owner, ids(), clock());
      const value = {
        userId,
        expirationDate,
        name,
        permissions,
        makerId: maker?.id,
        creatorId: creatorOf(maker, call),
      };
      const sessionId = ownSession(userId, call);
      const secret = { hash: hashToken(token).toString("hex"), isOfSession: sessionId !== undefined };
      const created = factOf("accessToken", at, { case: "created", value }, secret);
      const answer = await log.append(call, [created], { tokenId: at.stream, token, details: detailsAfter(at) });
      if (sessionId !== undefined) await confirm({ at, userId, sessionId }, call);
      if (userId !== callerOf(call).userId) await confirmCovered({ at, userId }, call);
      return answer;
    },

    async listAccessTokens(request, call) {
      const { userId } = request;
      const owner = organizationOf(call);
      const page = pageOf(ListAccessTokensRequestSchema, request, 1);
      if (!(await userExists({ owner, id: userId }, call.signal))) throw refuse.notFound("user", userId);
      const { rows, nextPageToken } = cut(await tokensOf(sql, userId, page), page, ({ id }) => [id]);
      return { tokens: rows.map(accessToken), nextPageToken };
    },

    async revokeAccessToken({ userId, tokenId }, call) {
      const row = await tokenById({ owner: organizationOf(call), user: userId, id: tokenId }, call.signal);
      if (!row) throw refuse.notFound("token", tokenId);
      const presented = await presentedOf(userId, call);
      const successor = presented?.makerId === tokenId ? presented : undefined;
      const at = next(row, clock());
      const revoked = factOf("accessToken", at, { case: "revoked", value: { userId, successorId: successor?.id } });
      return log.append(call, [revoked, ...inheriting(successor, row)], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof UserService>>;

  /** Revokes the new token if its session has ended since, and fails the call. */
  async function confirm({ at, userId, sessionId }: TokenOfSession, call: Call): Promise<void> {
    if (await isSession(sql, sessionId)) return;
    await revokeNew({ at, userId }, call);
    throw refuse.because("TOKEN_INVALID");
  }

  /** Revokes the new token if its user was given a role meanwhile that its creator does not cover, and fails the call. */
  async function confirmCovered({ at, userId }: NewToken, call: Call): Promise<void> {
    const permission = await gained(userId, call);
    if (permission === undefined) return;
    await revokeNew({ at, userId }, call);
    throw gainedMeanwhile(permission);
  }

  /** Revokes the new token of a call that fails; the change that the call lost its race to may have ended the token already. */
  function revokeNew({ at, userId }: NewToken, call: Call): Promise<void> {
    return withdraw({ log, sql }, call, async (signal) => {
      const row = await tokenById({ owner: at.owner, user: userId, id: at.stream }, signal);
      return row ? [factOf("accessToken", next(row, clock()), { case: "revoked", value: { userId } })] : [];
    });
  }

  /** The token that the call presents, if it belongs to the user. */
  async function presentedOf(userId: string, call: Call): Promise<AccessTokenRow | undefined> {
    const { userId: id, organization: owner, tokenId } = callerOf(call);
    if (id !== userId || tokenId === undefined) return undefined;
    return tokenById({ owner, user: userId, id: tokenId }, call.signal);
  }

  /** The token with which a machine creates its own successor; fails if it was revoked meanwhile. */
  async function makerOf(userId: string, call: Call): Promise<AccessTokenRow | undefined> {
    const { userId: id, tokenId } = callerOf(call);
    if (id !== userId || tokenId === undefined) return undefined;
    const maker = await presentedOf(userId, call);
    if (!maker) throw refuse.because("TOKEN_INVALID");
    return maker;
  }

  /** The fact that a successor has replaced the token that created it. */
  function inheriting(successor: AccessTokenRow | undefined, { makerId }: AccessTokenRow): NewFact[] {
    if (!successor) return [];
    const value = makerId === null ? {} : { makerId };
    return [factOf("accessToken", next(successor, clock()), { case: "makerChanged", value })];
  }
};

/** The creator of a new token: if a token creates it, the creator of that one. */
const creatorOf = (maker: AccessTokenRow | undefined, call: Call): string | undefined =>
  maker ? (maker.creatorId ?? undefined) : callerOf(call).userId;

type NewToken = { readonly at: At; readonly userId: string };
type TokenOfSession = NewToken & { readonly sessionId: string };

/** The session in which users create tokens for themselves. */
function ownSession(userId: string, call: Call): string | undefined {
  const { userId: id, sessionId } = callerOf(call);
  return id === userId ? sessionId : undefined;
}

/**
 * Whether a session is still in force. A statement that ends the session either sees its tokens and ends them, or ran first and is seen
 * here.
 */
async function isSession(sql: Sql, sessionId: string): Promise<boolean> {
  const rows = await sql`select from sessions where session_id = ${sessionId}`;
  return rows.length > 0;
}

const tokenRead = (sql: Sql) =>
  loadOne<{ owner: string; user: string; id: string }, AccessTokenRow>(sql, {
    asked: `owner text, "user" text, id text`,
    select: `select n, ${columns} from asked join access_tokens t
               on t.owner = asked.owner and t.token_id = asked.id and t.user_id = asked."user"`,
  });

/** Refuses a token that would outlive the one that creates it. */
function refuseOutliving(expirationDate: Timestamp | undefined, maker: AccessTokenRow | undefined): void {
  const most = maker?.expirationDate;
  if (!most || (expirationDate && timestampDate(expirationDate) <= most)) return;
  const params = { until: most.toISOString() };
  const violation = {
    field: "expirationDate",
    text: "EXPIRATION_AFTER_MAKER",
    params,
    reason: "EXPIRATION_LATE",
  } as const;
  throw refuse.invalid([violation]);
}

// Covers every token that it created, and those that they created in turn, but nothing that its successor created.
const madeEnd: Cascade = {
  makes: "access_token.revoked",
  extent: "few",
  select: `select i.n, m.owner, m.token_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from $input i cross join lateral (
             with recursive made as (
               select t.owner, t.token_id, t.version, t.user_id from access_tokens t
               where t.maker_id = i.stream and t.token_id is distinct from i.payload->>'successorId'
               union all
               select t.owner, t.token_id, t.version, t.user_id from made join access_tokens t on t.maker_id = made.token_id
             ) select * from made) m`,
};

/** The folds of facts about an access token: they write its row and the directory of bearers. */
export const accessTokenFolds = {
  created: {
    views: [
      `insert into access_tokens (owner, token_id, user_id, expiration_date, name, permissions, maker_id, creator_id, version,
         created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz,
         coalesce(f.payload->>'name', ''), array(select jsonb_array_elements_text(f.payload->'permissions')),
         f.payload->>'makerId', f.payload->>'creatorId', f.version, f.time, f.time from $facts f`,
    ],
    credentials: [
      `insert into bearers (hash, owner, user_id, token_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from $input i`,
      countOfSession,
    ],
  },
  revoked: {
    views: [`delete from access_tokens t using $facts f where t.owner = f.owner and t.token_id = f.stream`],
    credentials: [`delete from bearers b using $facts f where b.token_id = f.stream`],
    cascades: [madeEnd],
  },
  makerChanged: { views: [touch("access_tokens", "token_id", "maker_id = f.payload->>'makerId'")] },
} satisfies NounFolds<"accessToken">;

const mostTokensOfUser = 1_000;

/** Reads a user, and whether it already has the maximum number of access tokens in force. */
const tokenRoomRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string; now: string }, { isFull: boolean }>(sql, {
    asked: "owner text, id text, now timestamptz",
    select: `select n, exists (
        select from access_tokens t where t.user_id = u.user_id and coalesce(t.expiration_date, 'infinity') > asked.now
        offset ${mostTokensOfUser - 1}) as "isFull"
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

function refuseFull(found: { isFull: boolean } | undefined, userId: string): void {
  if (!found) throw refuse.notFound("user", userId);
  if (found.isFull) throw refuse.because("ACCESS_TOKEN_LIMIT", { params: { limit: String(mostTokensOfUser) } });
}

type AccessTokenRow = Versioned & {
  readonly userId: string;
  readonly expirationDate: Date | null;
  readonly name: string;
  readonly permissions: readonly string[];
  /** The token of the same user that created it. */
  readonly makerId: string | null;
  /** The user who created it; null if unknown. */
  readonly creatorId: string | null;
};

const columns = `t.token_id as id, t.owner, t.user_id as "userId", t.expiration_date as "expirationDate",
  t.name, t.permissions, t.maker_id as "makerId", ${creatorId("t")} as "creatorId", t.version, t.created, t.changed`;

type ListedToken = AccessTokenRow & { readonly lastUsed: Date | null; readonly lastUsedOrigin: Origin | null };

export const tokensOf = (sql: Sql, userId: string, { after, limit }: PagePart) => sql<ListedToken[]>`
  select ${sql.unsafe(columns)}, b.last_used as "lastUsed", b.last_used_origin as "lastUsedOrigin"
  from access_tokens t left join bearers b on b.token_id = t.token_id
  where t.user_id = ${userId} and ${after ? sql`t.token_id < ${after[0] ?? ""}` : sql`true`}
  order by t.token_id desc limit ${limit}`;

export const accessToken = ({ expirationDate, name, permissions, creatorId, lastUsed, ...row }: ListedToken) => ({
  id: row.id,
  details: details(row),
  userId: row.userId,
  ...(expirationDate === null ? {} : { expirationDate: timestampFromDate(shownDate(expirationDate)) }),
  name,
  permissions: [...permissions],
  ...(creatorId === null ? {} : { creatorId }),
  ...(lastUsed === null ? {} : { lastUsedDate: timestampFromDate(lastUsed) }),
  ...(row.lastUsedOrigin ? { lastUsedOrigin: row.lastUsedOrigin } : {}),
});

const lastMoment = new Date(Date.UTC(9999, 11, 31, 23, 59, 59, 999));

// Expiry dates stored before they were rounded down can be in the year 10000, which Timestamp cannot represent.
const shownDate = (date: Date): Date => (date > lastMoment ? lastMoment : date);

export type AccessTokenSettings = { readonly accessTokenLifetimeMaxSeconds: number };

export const accessTokenRules = ({ clock }: Pick<Deps, "clock">, settings: AccessTokenSettings) => [
  messageRule(CreateAccessTokenRequestSchema, ({ expirationDate }) => pastExpiration(expirationDate, clock())),
  messageRule(CreateAccessTokenRequestSchema, ({ expirationDate }) => late(expirationDate, clock(), settings)),
  pageRule(ListAccessTokensRequestSchema, 1),
];

function late(expirationDate: Timestamp | undefined, now: Date, settings: AccessTokenSettings): Violation[] {
  const { accessTokenLifetimeMaxSeconds: most } = settings;
  if (most === 0) return [];
  if (expirationDate && timestampDate(expirationDate).getTime() <= now.getTime() + most * 1000) return [];
  return [{ field: "expirationDate", text: "TOKEN_LIFETIME", params: { max: most }, reason: "EXPIRATION_LATE" }];
}
