import type { Cascade, NounFolds } from "../events/fold.ts";
import { clearAttempts, keepPassword, spendAttempts } from "./password.ts";
import { dropPhoneCode, keepPhoneCode } from "./phone_code.ts";
import { phoneFolds } from "./user_phone.ts";

const changed = (columns: string) =>
  `update users u set ${columns}, version = f.version, changed = f.time
   from facts f where u.owner = f.owner and u.user_id = f.stream`;

const endSessions: Cascade = {
  makes: "session.ended",
  select: `select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from input i join sessions s on s.user_id = i.stream
           where s.session_id is distinct from i.payload->>'keepSessionId'`,
};

const loginName = `insert into login_names (login_name, owner, user_id)
  select f.payload->>'loginName', f.owner, f.stream from facts f`;

/** What the facts about a user do. */
export const userFolds = {
  ...phoneFolds,
  humanCreated: {
    views: [
      `insert into users (owner, user_id, kind, username, given_name, family_name, email, phone, version, created, changed)
       select f.owner, f.stream, 'human', f.payload->>'username', f.payload->>'givenName', f.payload->>'familyName',
         f.payload->>'email', f.payload->>'phone', f.version, f.time, f.time from facts f`,
      loginName,
    ],
    credentials: [...keepPassword, ...keepPhoneCode],
  },
  machineCreated: {
    views: [
      `insert into users (owner, user_id, kind, username, name, version, created, changed)
       select f.owner, f.stream, 'machine', f.payload->>'username', f.payload->>'name', f.version, f.time, f.time
       from facts f`,
      loginName,
    ],
  },
  passwordChanged: {
    views: [changed("phone = u.phone")],
    credentials: [...keepPassword, ...clearAttempts],
    cascades: [endSessions],
  },
  deactivated: { views: [changed("active = false")], cascades: [endSessions] },
  reactivated: { views: [changed("active = true")] },
  locked: {
    views: [changed("locked = true, locked_until = (f.payload->>'until')::timestamptz")],
    credentials: spendAttempts,
  },
  unlocked: { views: [changed("locked = false, locked_until = null")], credentials: clearAttempts },
  deleted: {
    views: [
      `delete from login_names l using facts f where l.user_id = f.stream`,
      `delete from users u using facts f where u.owner = f.owner and u.user_id = f.stream`,
    ],
    credentials: [
      `delete from passwords p using facts f where p.user_id = f.stream`,
      `delete from password_history h using facts f where h.user_id = f.stream`,
      ...clearAttempts,
      ...dropPhoneCode,
    ],
    cascades: [
      endSessions,
      {
        makes: "access_token.revoked",
        select: `select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
                 from input i join access_tokens t on t.user_id = i.stream`,
      },
      {
        makes: "member.removed",
        select: `select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
                 from input i join members m on m.user_id = i.stream`,
      },
      {
        makes: "user_grant.removed",
        select: `select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
                 from input i join user_grants g on g.user_id = i.stream`,
      },
    ],
  },
} satisfies NounFolds<"user">;
