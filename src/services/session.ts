import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { ListSessionsRequestSchema, type SessionService } from "../../gen/postern/v1/session_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { details, detailsAfter, factOf, next, type Versioned } from "../events/fact.ts";
import { type NounFolds, touch } from "../events/fold.ts";
import { loadOne } from "../events/load.ts";
import type { Sql } from "../postgres/connect.ts";
import type { PasswordBench } from "../security/password.ts";
import { userExistsRead } from "./access_token.ts";
import { completedSessions, completionRules, type FactorSignInSettings } from "./complete_session.ts";
import { evenTime } from "./even_time.ts";
import { isFactorRequired } from "./factor_policy.ts";
import { type FactorKindName, isFullFactor } from "./factor_read.ts";
import { replacementHash } from "./new_password.ts";
import { confirmedSessions, newSessions, passwordReplaced } from "./new_session.ts";
import { cut, type Page, pageOf, pageRule } from "./page.ts";
import { passkeySessions } from "./passkey_session.ts";
import {
  countSignIn,
  loginNameOf,
  mustChange,
  passwordGuesses,
  passwordUserByLoginName,
  type TriedUser,
} from "./password.ts";
import { type Hashes, pendingSessions } from "./pending_session.ts";
import { signInLimit } from "./sign_in_limit.ts";

/** How long a session lasts, how many sign-ins may fail, and where the pages of passkeys are. */
export type SessionSettings = FactorSignInSettings;

/** Signing in and out; a session lasts for the time set. */
export const sessionService = (deps: Deps, settings: SessionSettings) => {
  const { log, sql, clock, secrets } = deps;
  const userByLoginName = passwordUserByLoginName(sql);
  const guess = passwordGuesses(deps);
  const limited = signInLimit(settings);
  const even = evenTime(sql);
  const userExists = userExistsRead(sql);
  const sessionById = sessionRead(sql);
  const pending = pendingSessions(deps, settings);
  const sessionOf = newSessions(deps, settings);
  const confirm = confirmedSessions(deps);

  return {
    async createSession({ loginName, password, newPassword }, call) {
      const signIn = { loginName: loginNameOf(loginName), password, newPassword, call };
      // The limit counts first: whoever hangs up during the wait has made a guess all the same.
      const outcome = await even(call.signal, () => limited(signIn, () => tried(signIn)));
      if (outcome.is !== "right") throw refuse.because("SIGN_IN_FAILED");
      const { user, value } = outcome;
      if (newPassword === undefined && mustChange(user, clock())) throw refuse.because("PASSWORD_CHANGE_REQUIRED");
      if (user.factorKinds.some(isFull)) return { pending: await pending.begin(user, value, call) };
      return signedIn(user, value, call);
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

    ...completedSessions(deps, settings),
    ...passkeySessions(deps, settings),
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

  /** Signs a user without a factor in; where one is wanted, only to enrol it. */
  async function signedIn(user: TriedUser, { rehashed, replaced }: Hashes, call: Call) {
    const enrolmentOnly = isFactorRequired(user.policy.factorRequirement, user);
    // The fact that replaces a password counts this sign-in.
    const since = replaced === undefined ? user.since : null;
    const made = sessionOf({ ...user, since }, { amr: [], enrolmentOnly, rehashed });
    const facts = replaced === undefined ? [] : [passwordReplaced(user, replaced, clock())];
    const answer = { ...made.answer, enrolmentOnly };
    await log.append(call, [...facts, made.created], answer);
    if (replaced === undefined) await confirm(made, { ...user, isComplete: false }, call);
    return answer;
  }
};

const isFull = (kind: FactorKindName) => isFullFactor({ kind });

type SignIn = { readonly loginName: string; readonly password: string; readonly call: Call } & {
  readonly newPassword: string | undefined;
};

/** Cross-field rules of requests about sessions. */
export const sessionRules = [pageRule(ListSessionsRequestSchema, 1), ...completionRules];

// Without any, and so in facts of earlier releases, it was the password.
const amrOfFact = `case when jsonb_array_length(coalesce(f.payload->'amr', '[]')) = 0 then '{pwd}'
  else array(select jsonb_array_elements_text(f.payload->'amr')) end`;

/** The folds of facts about a session: they write its row and the directory of bearers. */
export const sessionFolds = {
  created: {
    views: [
      `insert into sessions (owner, session_id, user_id, expiration_date, amr, enrolment_only, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz, ${amrOfFact},
         coalesce((f.payload->>'enrolmentOnly')::boolean, false), f.version, f.time, f.time from $facts f`,
    ],
    expiry: { table: "sessions", column: "expiration_date" },
    credentials: [
      `insert into bearers (hash, owner, user_id, session_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from $input i`,
      ...countSignIn,
    ],
  },
  unrestricted: { views: [touch("sessions", "session_id", `amr = ${amrOfFact}, enrolment_only = false`)] },
  ended: {
    views: [`delete from sessions s using $facts f where s.owner = f.owner and s.session_id = f.stream`],
    credentials: [`delete from bearers b using $facts f where b.session_id = f.stream`],
  },
} satisfies NounFolds<"session">;

type SessionRow = Versioned & {
  readonly userId: string;
  readonly expirationDate: Date;
  readonly amr: readonly string[];
  readonly enrolmentOnly: boolean;
};

const columns = `s.session_id as id, s.owner, s.user_id as "userId", s.expiration_date as "expirationDate",
  s.amr, s.enrolment_only as "enrolmentOnly", s.version, s.created, s.changed`;

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

const session = ({ userId, expirationDate, amr, enrolmentOnly, ...row }: SessionRow) => ({
  id: row.id,
  details: details(row),
  userId,
  expirationDate: timestampFromDate(expirationDate),
  amr: [...amr],
  acr: acrOf(amr),
  authTime: timestampFromDate(row.created),
  enrolmentOnly,
});

/** The class of a sign-in by its methods: whether it took more than one factor. */
export const acrOf = (amr: readonly string[]): string =>
  amr.includes("mfa") ? "urn:postern:acr:multi-factor" : "urn:postern:acr:single-factor";
