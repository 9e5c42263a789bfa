import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { ListSessionsRequestSchema, type SessionService } from "../../gen/postern/v1/session_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { details, detailsAfter, factOf, first, next, type Versioned } from "../events/fact.ts";
import type { NounFolds } from "../events/fold.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import type { PasswordBench } from "../security/password.ts";
import { hashToken, newToken } from "../security/token.ts";
import { userExistsRead } from "./access_token.ts";
import { evenTime } from "./even_time.ts";
import { userInForce } from "./in_force.ts";
import { replacementHash } from "./new_password.ts";
import { cut, type Page, pageOf, pageRule } from "./page.ts";
import {
  countSignIn,
  loginNameOf,
  mustChange,
  passwordGuesses,
  passwordSecret,
  passwordUserByLoginName,
  type TriedUser,
} from "./password.ts";
import { type SignInLimits, signInLimit } from "./sign_in_limit.ts";

/** How long a session lasts, and how many sign-ins may fail. */
export type SessionSettings = SignInLimits & { readonly sessionLifetimeSeconds: number };

/** Signing in and out; a session lasts for the time set. */
export const sessionService = (deps: Deps, settings: SessionSettings) => {
  const { log, sql, clock, secrets } = deps;
  const userByLoginName = passwordUserByLoginName(sql);
  const guess = passwordGuesses(deps);
  const limited = signInLimit(settings, deps.failureRate);
  const even = evenTime(sql);
  const userExists = userExistsRead(sql);
  const sessionById = sessionRead(sql);

  return {
    async createSession({ loginName, password, newPassword }, call) {
      const signIn = { loginName: loginNameOf(loginName), password, newPassword, call };
      // The limit counts first: whoever hangs up during the wait has made a guess all the same.
      const outcome = await even(call.signal, () => limited(signIn, () => tried(signIn)));
      if (outcome.is !== "right") throw refuse.because("SIGN_IN_FAILED");
      const { user, value } = outcome;
      if (newPassword === undefined && mustChange(user, clock())) throw refuse.because("PASSWORD_CHANGE_REQUIRED");
      const { facts, at, answer } = newSession(user, value);
      await log.append(call, facts, answer);
      if (value.replaced === undefined && !(await isStillRight(sql, user)))
        throw await takenBack({ ...at, id: at.stream }, user, call);
      return answer;
    },

    async listSessions(request, call) {
      const page = pageOf(ListSessionsRequestSchema, request, 1);
      const { userId } = request;
      const user = { owner: organizationOf(call), id: userId || callerOf(call).userId };
      if (!(await userExists(user, call.signal))) throw refuse.notFound("user", userId);
      const { rows, nextPageToken } = cut(await openConnections(sql, user.id, clock(), page), page, ({ id }) => [id]);
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

  async function tried({ loginName, password, newPassword, call }: SignIn) {
    const user = await userByLoginName({ login_name: loginName }, call.signal);
    const whenRight = async (bench: PasswordBench, user: TriedUser): Promise<Hashes> => {
      if (newPassword !== undefined)
        return { replaced: await replacementHash(secrets, { bench, user, oldPassword: password, newPassword }) };
      return secrets.passwords.needsRehash(user.hash) ? { rehashed: await bench.hash(password) } : {};
    };
    return guess({ password, call, whenRight }, user);
  }

  function newSession(user: TriedUser, { rehashed, replaced }: Hashes) {
    const { id: userId, owner } = user;
    const token = newToken("ps");
    const at = first(owner, deps.ids(), clock());
    const expirationDate = timestampFromDate(new Date(at.time.getTime() + settings.sessionLifetimeSeconds * 1000));
    // The fact that replaces a password counts this sign-in; of a statement's two updates of one row only one would last.
    const since = replaced === undefined ? user.since : null;
    const secret = { hash: hashToken(token).toString("hex"), since, ...(rehashed ? { rehashed } : {}) };
    const created = factOf("session", at, { case: "created", value: { userId, expirationDate } }, secret);
    const facts = replaced === undefined ? [created] : [passwordReplaced(user, replaced), created];
    return { at, facts, answer: { sessionId: at.stream, token, details: detailsAfter(at), expirationDate } };
  }

  function passwordReplaced(user: TriedUser, hash: string) {
    const value = { byAdministrator: false };
    const at = next(user, clock());
    return factOf("user", at, { case: "passwordChanged", value }, passwordSecret(hash, user.policy));
  }

  /** Ends the new session and refuses the sign-in: the password was changed, or the user shut out, during the check. */
  async function takenBack(row: Omit<Versioned, "changed" | "created"> & { time: Date }, user: TriedUser, call: Call) {
    const at = next({ ...row, created: row.time, changed: row.time }, clock());
    const ended = factOf("session", at, { case: "ended", value: { userId: user.id } });
    return log.append(call, [ended], refuse.because("SIGN_IN_FAILED"));
  }
};

type SignIn = { readonly loginName: string; readonly password: string; readonly call: Call } & {
  readonly newPassword: string | undefined;
};

/** The hash of the same password at another cost, or of the one that replaces it. */
type Hashes = { readonly rehashed?: string; readonly replaced?: string };

/** Cross-field rules of requests about sessions. */
export const sessionRules = [pageRule(ListSessionsRequestSchema, 1)];

/** The folds of facts about a session: they write its row and the directory of bearers. */
export const sessionFolds = {
  created: {
    views: [
      `insert into sessions (owner, session_id, user_id, expiration_date, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz,
         f.version, f.time, f.time from $facts f`,
    ],
    expiry: { table: "sessions", column: "expiration_date" },
    credentials: [
      `insert into bearers (hash, owner, user_id, session_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from $input i`,
      ...countSignIn,
    ],
  },
  ended: {
    views: [`delete from sessions s using $facts f where s.owner = f.owner and s.session_id = f.stream`],
    credentials: [`delete from bearers b using $facts f where b.session_id = f.stream`],
  },
} satisfies NounFolds<"session">;

type SessionRow = Versioned & { readonly userId: string; readonly expirationDate: Date };

const columns = `s.session_id as id, s.owner, s.user_id as "userId", s.expiration_date as "expirationDate",
  s.version, s.created, s.changed`;

const sessionRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, SessionRow>(sql, {
    asked: "owner text, id text",
    select: `select n, ${columns} from asked join sessions s on s.owner = asked.owner and s.session_id = asked.id`,
  });

const openConnections = (sql: Sql, userId: string, now: Date, { after, limit }: Page) => sql<SessionRow[]>`
  select ${sql.unsafe(columns)} from sessions s
  where s.user_id = ${userId} and s.expiration_date > ${now}
    and ${after ? sql`s.session_id < ${after[0] ?? ""}` : sql`true`}
  order by s.session_id desc limit ${limit}`;

const session = ({ userId, expirationDate, ...row }: SessionRow) => ({
  id: row.id,
  details: details(row),
  userId,
  expirationDate: timestampFromDate(expirationDate),
});

/** Whether the user may still sign in with the password that was checked. */
async function isStillRight(sql: Sql, { id, since }: TriedUser): Promise<boolean> {
  // A statement that ends the user's sessions either sees this one and ends it, or came first and is seen here.
  const rows = await sql`
    select from passwords p join users u using (user_id)
    where p.user_id = ${id} and p.changed::text = ${since} and ${sql.unsafe(userInForce)}`;
  return rows.length > 0;
}
