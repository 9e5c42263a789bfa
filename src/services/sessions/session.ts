import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { ListSessionsRequestSchema, type SessionService } from "../../../gen/postern/v1/session_pb.ts";
import { SignOnEnd } from "../../../gen/postern/v1/sign_on_pb.ts";
import { callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, first, type NewFact, next, type Versioned } from "../../events/fact.ts";
import { type NounFolds, touch } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Origin } from "../../events/log.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { acrOf } from "../callers/authentication_class.ts";
import { userExistsRead } from "../callers/user_exists.ts";
import { handlers } from "../module.ts";
import { countSignIn } from "../passwords/password.ts";
import { cut, type PagePart, pageOf, pageRule } from "../reading/page.ts";
import { completedSessions, completionRules, type FactorSignInSettings } from "./complete_session.ts";
import { mailSessions } from "./mail_session.ts";
import { callSession } from "./new_session.ts";
import { passkeySessions } from "./passkey_session.ts";
import { endedAt, signedOutAt } from "./session_end.ts";
import type { SignIns } from "./sign_in.ts";

export type SessionOptions = FactorSignInSettings & SignIns;

export const sessionService = (deps: Deps, options: SessionOptions) => {
  const { signIn } = options;
  const { log, sql, clock } = deps;
  const userExists = userExistsRead(sql);
  const sessionById = sessionRead(sql);

  return handlers(completedSessions(options), passkeySessions(options), mailSessions(options), {
    async createSession({ loginName, organizationId, password, newPassword }, call) {
      const kind = callSession(options);
      const outcome = await signIn(
        { loginName, organizationId, password, newPassword, browsers: [], call },
        { ...kind, answer: (begun) => ({ ...kind.answer(begun), enrolmentOnly: begun.enrolmentOnly }) },
      );
      return "pending" in outcome ? outcome : outcome.answer;
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
      return log.append(call, [signedOutAt(at, row.userId)], { details: detailsAfter(at) });
    },

    async deleteUserSessions({ userId }, call) {
      const user = { owner: organizationOf(call), id: userId };
      if (!(await userExists(user, call.signal))) throw refuse.notFound("user", userId);
      const kept = callerOf(call).sessionId ?? "";
      const now = clock();
      const [rows, signOns] = await Promise.all([sessionsBeside(sql, userId, kept), outlasting(sql, userId, now)]);
      const facts = [
        ...rows.map((row) => endedAt(next(row, now), userId)),
        ...signOns.map((one) => signOnEnded(one, now)),
      ];
      return log.append(call, facts, { ended: rows.length });
    },
  } satisfies Partial<ServiceImpl<typeof SessionService>>);
};

export const sessionRules = [pageRule(ListSessionsRequestSchema, 1), ...completionRules];

// Facts of earlier releases have no methods: they were sign-ins by password.
const amrOf = (
  from: "f" | "i",
) => `case when jsonb_array_length(coalesce(${from}.payload->'amr', '[]')) = 0 then '{pwd}'
  else array(select jsonb_array_elements_text(${from}.payload->'amr')) end`;

const keepsOffline = "coalesce((f.payload->>'keepsOffline')::boolean, false)";

/** The folds of facts about a session: they write its row and the directory of bearers. */
export const sessionFolds = {
  created: {
    views: [
      `insert into sessions (owner, session_id, user_id, expiration_date, amr, enrolment_only, origin, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz, ${amrOf("f")},
         coalesce((f.payload->>'enrolmentOnly')::boolean, false), f.origin, f.version, f.time, f.time from $facts f`,
    ],
    expiry: { table: "sessions", column: "expiration_date" },
    credentials: [
      `insert into bearers (hash, owner, user_id, session_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from $input i where i.secret->>'hash' is not null`,
      `insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date,
         earlier_session_id)
       select i.stream, i.owner, i.payload->>'userId', decode(i.secret->>'cookie', 'hex'), i.time,
         ${amrOf("i")}, (i.secret->>'idleDate')::timestamptz,
         (i.payload->>'expirationDate')::timestamptz,
         (select e.session_id from jsonb_array_elements_text(i.secret->'earlier') as value (hash)
          join browser_sessions e on e.hash = decode(value.hash, 'hex') and e.user_id = i.payload->>'userId'
          order by e.auth_time desc limit 1)
       from $input i where i.secret->>'cookie' is not null`,
      // The code of a mail is used once, so concurrent uses have one winner.
      `insert into spent_challenges (challenge, expiration_date)
       select convert_to(i.secret->'usedCode'->>'id', 'utf8'), (i.secret->'usedCode'->>'until')::timestamptz
       from $input i where i.secret->'usedCode' is not null`,
      `delete from mail_codes c using $input i where c.mail_code_id = i.secret->'usedCode'->>'id'`,
      ...countSignIn,
    ],
  },
  unrestricted: {
    views: [touch("sessions", "session_id", `amr = ${amrOf("f")}, enrolment_only = false`)],
    credentials: [`update browser_sessions b set methods = ${amrOf("i")} from $input i where b.session_id = i.stream`],
  },
  ended: {
    views: [`delete from sessions s using $facts f where s.owner = f.owner and s.session_id = f.stream`],
    credentials: [
      `delete from bearers b using $facts f where b.session_id = f.stream`,
      `delete from browser_sessions b using $facts f where b.session_id = f.stream and not ${keepsOffline}`,
      // A trigger does the rest of a sign-out.
      `update browser_sessions b set expiration_date = 'epoch', hash = sha256(b.hash)
       from $facts f where b.session_id = f.stream and ${keepsOffline}`,
    ],
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

type ListedSession = SessionRow & {
  readonly origin: Origin | null;
  readonly lastUsed: Date | null;
  readonly lastUsedOrigin: Origin | null;
};

export const openConnections = (sql: Sql, userId: string, now: Date, { after, limit }: PagePart) => sql<
  ListedSession[]
>`
  select ${sql.unsafe(columns)}, s.origin, coalesce(b.last_used, w.last_used) as "lastUsed",
    coalesce(b.last_used_origin, w.last_used_origin) as "lastUsedOrigin"
  from sessions s left join bearers b on b.session_id = s.session_id left join browser_sessions w on w.session_id = s.session_id
  where s.user_id = ${userId} and s.expiration_date > ${now}
    and ${after ? sql`s.session_id < ${after[0] ?? ""}` : sql`true`}
  order by s.session_id desc limit ${limit}`;

// Nobody has more sessions than one statement may end. If a user ever does, the oldest end first.
const sessionsBeside = (sql: Sql, userId: string, kept: string) => sql<SessionRow[]>`
  select ${sql.unsafe(columns)} from sessions s
  where s.user_id = ${userId} and s.session_id <> ${kept} order by s.session_id limit 10000`;

/** A sign-in to an application whose session has expired. */
type Outlasting = Readonly<Record<"owner" | "signOnId" | "userId" | "appId" | "sessionId", string>>;

// An application's refresh token outlasts the session that it was issued in.
const outlasting = (sql: Sql, userId: string, now: Date) => sql<Outlasting[]>`
  select b.owner, o.sign_on_id as "signOnId", o.user_id as "userId", o.app_id as "appId", o.session_id as "sessionId"
  from sign_ons o join browser_sessions b on b.session_id = o.session_id
  where o.user_id = ${userId} and o.expiration_date > ${now}
    and not exists (select from sessions s where s.session_id = o.session_id)
  order by o.sign_on_id limit 10000`;

const signOnEnded = ({ owner, signOnId, ...of }: Outlasting, now: Date): NewFact =>
  factOf("signOn", first(owner, signOnId, now), { case: "ended", value: { ...of, reason: SignOnEnd.SESSIONS_ENDED } });

export const session = ({ userId, expirationDate, amr, enrolmentOnly, origin, ...row }: ListedSession) => ({
  id: row.id,
  details: details(row),
  userId,
  expirationDate: timestampFromDate(expirationDate),
  amr: [...amr],
  acr: acrOf(amr),
  authTime: timestampFromDate(row.created),
  enrolmentOnly,
  ...(origin ? { origin } : {}),
  ...(row.lastUsed ? { lastUsedDate: timestampFromDate(row.lastUsed) } : {}),
  ...(row.lastUsedOrigin ? { lastUsedOrigin: row.lastUsedOrigin } : {}),
});
