import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { SessionService } from "../../gen/postern/v1/session_pb.ts";
import { callerOf, type Deps, organizationOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { details, detailsAfter, factOf, first, next, type Versioned } from "../events/fact.ts";
import type { NounFolds } from "../events/fold.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import type { PasswordBench } from "../security/password.ts";
import { hashToken, newToken } from "../security/token.ts";
import { cut, type Page, pageOf } from "./page.ts";
import { loginNameOf, type PasswordUser, passwordGuesses, passwordUserByLoginName } from "./password.ts";

/** How long a session lives. */
export type SessionSettings = { readonly sessionLifetimeSeconds: number };

/** Signing in and out. */
export const sessionService = (deps: Deps, { sessionLifetimeSeconds }: SessionSettings) => {
  const { log, sql, clock, ids, secrets } = deps;
  const userByLoginName = passwordUserByLoginName(sql);
  const guess = passwordGuesses(deps);
  const sessionById = sessionRead(sql);

  return {
    async createSession({ loginName, password }, call) {
      const user = await userByLoginName({ login_name: loginNameOf(loginName) }, call.signal);
      const outcome = await guess({ user, password, call, whenRight: rehashed });
      if (outcome.is !== "right") throw refuse.because("SIGN_IN_FAILED");
      const { id: userId, owner } = outcome.user;
      const at = first(owner, ids(), clock());
      const token = newToken("ps");
      const expirationDate = timestampFromDate(new Date(at.time.getTime() + sessionLifetimeSeconds * 1000));
      const secret = { hash: hashToken(token).toString("hex"), ...outcome.value };
      const created = factOf("session", at, { case: "created", value: { userId, expirationDate } }, secret);
      return log.append(call, [created], { sessionId: at.stream, token, details: detailsAfter(at), expirationDate });

      async function rehashed(bench: PasswordBench, { since }: PasswordUser, hash: string) {
        return secrets.passwords.needsRehash(hash) ? { since, rehash: await bench.hash(password) } : {};
      }
    },

    async listSessions(request, call) {
      const page = pageOf(request, 1);
      const of = { userId: request.userId || callerOf(call).userId, owner: organizationOf(call), now: clock() };
      const { rows, nextPageToken } = cut(await sessionsOf(sql, of, page), page, ({ id }) => [id]);
      return { sessions: rows.map(session), nextPageToken };
    },

    async deleteSession({ sessionId }, call) {
      const row = await sessionById({ owner: organizationOf(call), id: sessionId }, call.signal);
      if (!row) throw refuse.notFound("session", sessionId);
      const at = next(row, clock());
      const ended = factOf("session", at, { case: "ended", value: { userId: row.userId } });
      return log.append(call, [ended], { details: detailsAfter(at) });
    },
  } satisfies ServiceImpl<typeof SessionService>;
};

/** What the facts about a session do. */
export const sessionFolds = {
  created: {
    views: [
      `insert into sessions (owner, session_id, user_id, expiration_date, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz, f.version, f.time, f.time
       from facts f`,
    ],
    credentials: [
      `insert into bearers (hash, owner, user_id, session_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from input i`,
      // The parameters of hashing changed since: what was checked just now is hashed anew, unless it was replaced meanwhile.
      `update passwords p set hash = i.secret->>'rehash' from input i
       where p.user_id = i.payload->>'userId' and p.changed = (i.secret->>'since')::timestamptz
         and i.secret->>'rehash' is not null`,
    ],
  },
  ended: {
    views: [`delete from sessions s using facts f where s.owner = f.owner and s.session_id = f.stream`],
    credentials: [`delete from bearers b using facts f where b.session_id = f.stream`],
  },
} satisfies NounFolds<"session">;

type SessionRow = Versioned & { readonly userId: string; readonly expirationDate: Date };

const sessionRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, SessionRow>(sql, {
    asked: "owner text, id text",
    select: `select n, s.owner, s.session_id as id, s.user_id as "userId", s.version, s.created, s.changed
             from asked join sessions s on s.owner = asked.owner and s.session_id = asked.id`,
  });

type Of = { readonly userId: string; readonly owner: string; readonly now: Date };

const sessionsOf = (sql: Sql, { userId, owner, now }: Of, { after, limit }: Page) => sql<SessionRow[]>`
  select owner, session_id as id, user_id as "userId", expiration_date as "expirationDate", version, created, changed
  from sessions
  where user_id = ${userId} and owner = ${owner} and expiration_date > ${now}
    and ${after ? sql`session_id < ${after[0] ?? ""}` : sql`true`}
  order by session_id desc limit ${limit}`;

const session = (row: SessionRow) => ({
  ...{ id: row.id, userId: row.userId, details: details(row) },
  expirationDate: timestampFromDate(row.expirationDate),
});
