import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateAccessTokenRequestSchema,
  ListAccessTokensRequestSchema,
  type UserService,
} from "../../gen/postern/v1/user_pb.ts";
import { type Deps, organizationOf } from "../deps.ts";
import { messageRule, refuse, type Violation } from "../errors.ts";
import { details, detailsAfter, factOf, first, next, type Versioned } from "../events/fact.ts";
import type { NounFolds } from "../events/fold.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { hashToken, newToken } from "../security/token.ts";
import { cut, type Page, pageOf, pageRule } from "./page.ts";

/** The personal access tokens of users. */
export const userAccessTokens = ({ log, sql, clock, ids }: Deps) => {
  const userExists = userExistsRead(sql);
  const tokenById = loadOne<{ owner: string; user: string; id: string }, AccessTokenRow>(sql, {
    asked: `owner text, "user" text, id text`,
    select: `select n, ${columns} from asked join access_tokens t
               on t.owner = asked.owner and t.token_id = asked.id and t.user_id = asked."user"`,
  });

  return {
    async createAccessToken({ userId, expirationDate, name, permissions }, call) {
      const owner = organizationOf(call);
      if (!(await userExists({ owner, id: userId }, call.signal))) throw refuse.notFound("user", userId);
      const token = newToken("pt");
      const at = first(owner, ids(), clock());
      const value = { userId, expirationDate, name, permissions };
      const created = factOf("accessToken", at, { case: "created", value }, { hash: hashToken(token).toString("hex") });
      return log.append(call, [created], { tokenId: at.stream, token, details: detailsAfter(at) });
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
      const at = next(row, clock());
      const revoked = factOf("accessToken", at, { case: "revoked", value: { userId } });
      return log.append(call, [revoked], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof UserService>>;
};

/** The folds of facts about an access token: they write its row and the directory of bearers. */
export const accessTokenFolds = {
  created: {
    views: [
      `insert into access_tokens (owner, token_id, user_id, expiration_date, name, permissions, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz,
         coalesce(f.payload->>'name', ''), array(select jsonb_array_elements_text(f.payload->'permissions')),
         f.version, f.time, f.time from $facts f`,
    ],
    credentials: [
      `insert into bearers (hash, owner, user_id, token_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from $input i`,
    ],
  },
  revoked: {
    views: [`delete from access_tokens t using $facts f where t.owner = f.owner and t.token_id = f.stream`],
    credentials: [`delete from bearers b using $facts f where b.token_id = f.stream`],
  },
} satisfies NounFolds<"accessToken">;

/** Reads whether a user belongs to the organization. */
export const userExistsRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, object>(sql, {
    asked: "owner text, id text",
    select: `select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

type AccessTokenRow = Versioned & {
  readonly userId: string;
  readonly expirationDate: Date | null;
  readonly name: string;
  readonly permissions: readonly string[];
};

const columns = `t.token_id as id, t.owner, t.user_id as "userId", t.expiration_date as "expirationDate",
  t.name, t.permissions, t.version, t.created, t.changed`;

const tokensOf = (sql: Sql, userId: string, { after, limit }: Page) => sql<AccessTokenRow[]>`
  select ${sql.unsafe(columns)} from access_tokens t
  where t.user_id = ${userId} and ${after ? sql`t.token_id < ${after[0] ?? ""}` : sql`true`}
  order by t.token_id desc limit ${limit}`;

const accessToken = ({ userId, expirationDate, name, permissions, ...row }: AccessTokenRow) => ({
  id: row.id,
  details: details(row),
  userId,
  ...(expirationDate === null ? {} : { expirationDate: timestampFromDate(expirationDate) }),
  name,
  permissions: [...permissions],
});

/** How long an access token may last. */
export type AccessTokenSettings = { readonly accessTokenLifetimeMaxSeconds: number };

/** Cross-field rules of requests about access tokens. */
export const accessTokenRules = ({ clock }: Pick<Deps, "clock">, settings: AccessTokenSettings) => [
  messageRule(CreateAccessTokenRequestSchema, ({ expirationDate }) => past(expirationDate, clock())),
  messageRule(CreateAccessTokenRequestSchema, ({ expirationDate }) => late(expirationDate, clock(), settings)),
  pageRule(ListAccessTokensRequestSchema, 1),
];

function past(expirationDate: Timestamp | undefined, now: Date): Violation[] {
  if (expirationDate === undefined || timestampDate(expirationDate) > now) return [];
  return [{ field: "expirationDate", description: "must be in the future", reason: "EXPIRATION_PAST" }];
}

function late(expirationDate: Timestamp | undefined, now: Date, settings: AccessTokenSettings): Violation[] {
  const { accessTokenLifetimeMaxSeconds: most } = settings;
  if (most === 0) return [];
  if (expirationDate && timestampDate(expirationDate).getTime() <= now.getTime() + most * 1000) return [];
  return [
    { field: "expirationDate", description: `must be within ${most} seconds from now`, reason: "EXPIRATION_LATE" },
  ];
}
