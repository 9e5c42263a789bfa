import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { CreateAccessTokenRequest, UserService } from "../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, organizationOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { details, detailsAfter, factOf, first, next, type Versioned } from "../events/fact.ts";
import type { NounFolds } from "../events/fold.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import { hashToken, newToken } from "../security/token.ts";
import { cut, type Page, pageOf } from "./page.ts";

type AccessTokens = Pick<
  ServiceImpl<typeof UserService>,
  "createAccessToken" | "listAccessTokens" | "revokeAccessToken"
>;

/** The personal access tokens of users. */
export const accessTokens = ({ log, sql, clock, ids }: Deps) => {
  const userExists = userRead(sql);
  const tokenById = tokenRead(sql);

  return {
    async createAccessToken(request, call) {
      const { userId } = request;
      const expirationDate = futureOf(request, clock());
      await refuseMissingUser(userId, call);
      const at = first(organizationOf(call), ids(), clock());
      const token = newToken("pt");
      const value = { userId, ...(expirationDate && { expirationDate }) };
      const created = factOf("accessToken", at, { case: "created", value }, { hash: hashToken(token).toString("hex") });
      return log.append(call, [created], { tokenId: at.stream, token, details: detailsAfter(at) });
    },

    async listAccessTokens(request, call) {
      const page = pageOf(request, 1);
      await refuseMissingUser(request.userId, call);
      const { rows, nextPageToken } = cut(await tokensOf(sql, request.userId, page), page, ({ id }) => [id]);
      return { tokens: rows.map(accessToken), nextPageToken };
    },

    async revokeAccessToken({ userId, tokenId }, call) {
      const row = await tokenById({ owner: organizationOf(call), user: userId, id: tokenId }, call.signal);
      if (!row) throw refuse.notFound("token", tokenId);
      const at = next(row, clock());
      const revoked = factOf("accessToken", at, { case: "revoked", value: { userId } });
      return log.append(call, [revoked], { details: detailsAfter(at) });
    },
  } satisfies AccessTokens;

  async function refuseMissingUser(id: string, call: Call): Promise<void> {
    if (!(await userExists({ owner: organizationOf(call), id }, call.signal))) throw refuse.notFound("user", id);
  }
};

/** What the facts about a personal access token do. */
export const accessTokenFolds = {
  created: {
    views: [
      `insert into access_tokens (owner, token_id, user_id, expiration_date, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz, f.version, f.time, f.time
       from facts f`,
    ],
    credentials: [
      `insert into bearers (hash, owner, user_id, token_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from input i`,
    ],
  },
  revoked: {
    views: [`delete from access_tokens t using facts f where t.owner = f.owner and t.token_id = f.stream`],
    credentials: [`delete from bearers b using facts f where b.token_id = f.stream`],
  },
} satisfies NounFolds<"accessToken">;

type TokenRow = Versioned & { readonly userId: string; readonly expirationDate: Date | null };

const userRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, object>(sql, {
    asked: "owner text, id text",
    select: `select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id`,
  });

const tokenRead = (sql: Sql) =>
  loadOne<{ owner: string; user: string; id: string }, Versioned>(sql, {
    asked: `owner text, "user" text, id text`,
    select: `select n, t.owner, t.token_id as id, t.version, t.created, t.changed
             from asked join access_tokens t on t.owner = asked.owner and t.token_id = asked.id and t.user_id = asked."user"`,
  });

const tokensOf = (sql: Sql, userId: string, { after, limit }: Page) => sql<TokenRow[]>`
  select owner, token_id as id, user_id as "userId", expiration_date as "expirationDate", version, created, changed
  from access_tokens
  where user_id = ${userId} and ${after ? sql`token_id < ${after[0] ?? ""}` : sql`true`}
  order by token_id desc limit ${limit}`;

const accessToken = (row: TokenRow) => ({
  ...{ id: row.id, userId: row.userId, details: details(row) },
  ...(row.expirationDate && { expirationDate: timestampFromDate(row.expirationDate) }),
});

function futureOf({ expirationDate }: CreateAccessTokenRequest, now: Date) {
  if (!expirationDate || timestampDate(expirationDate) > now) return expirationDate;
  const violation = { field: "expirationDate", description: "must be in the future", reason: "EXPIRATION_DATE_PAST" };
  throw refuse.invalid([violation]);
}
