import type { Cascade, NounFolds } from "../events/fold.ts";
import { emailFolds } from "./email.ts";
import { endCodesWait } from "./factor_attempts.ts";
import { dropFactorCredentials } from "./factor_fold.ts";
import { dropAllMailCodes, dropMailCodes, keepMailCode } from "./mail_code.ts";
import { keepsAnOwner } from "./member.ts";
import { clearAttempts, endSignIns, firstPassword, replacePassword, spendAttempts } from "./password.ts";
import { dropPhoneCode, keepPhoneCode, unsendPhoneCode } from "./phone_code.ts";
import { addressInFact } from "./postal_address.ts";
import { touchUser } from "./touch_user.ts";
import { userUpdateFolds } from "./update_user.ts";
import { phoneFolds } from "./user_phone.ts";
import { usernameFolds } from "./username.ts";

const loginName = `insert into login_names (login_name, owner, user_id)
  select f.payload->>'loginName', f.owner, f.stream from $facts f`;

const chosenId = `insert into chosen_ids (id) select f.stream from $facts f where (f.payload->>'idChosen')::boolean`;

const sessionsEnd: Cascade = {
  makes: "session.ended",
  select: `select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from $input i join sessions s on s.user_id = i.stream
           where s.session_id is distinct from i.payload->>'keepSessionId'`,
};

const tokensEnd: Cascade = {
  makes: "access_token.revoked",
  select: `select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
           from $input i join access_tokens t on t.user_id = i.stream`,
};

const membershipsEnd: Cascade = {
  makes: "member.removed",
  select: `select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from $input i join members m on m.user_id = i.stream`,
};

const grantsEnd: Cascade = {
  makes: "user_grant.removed",
  select: `select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
           from $input i join user_grants g on g.user_id = i.stream`,
};

// Refresh tokens may outlive the session that they came of, and with it the cascade.
const browsersEnd = `delete from browser_sessions b using $input i
  where b.user_id = i.stream and b.session_id is distinct from i.payload->>'keepSessionId'`;

const gone = (table: string) => `delete from ${table} t using $facts f where t.user_id = f.stream`;

// A code that reached the mailbox verifies the address, and ends a lock that has an end: guesses at the old password are worth nothing.
const afterPasswordChange = `
  email_verified = t.email_verified or coalesce((f.payload->>'emailVerified')::boolean, false),
  locked = t.locked and (t.locked_until is null or not coalesce((f.payload->>'byCode')::boolean, false)),
  locked_until = case when not coalesce((f.payload->>'byCode')::boolean, false) then t.locked_until end`;

/** The folds of facts about a user: they write its row, its credentials, and the rows that depend on it. */
export const userFolds = {
  ...phoneFolds,
  ...userUpdateFolds,
  ...usernameFolds,
  ...emailFolds,
  passwordCodeRequested: { views: [touchUser()], credentials: keepMailCode },
  humanCreated: {
    views: [
      `insert into users (owner, user_id, kind, username, given_name, family_name, email, phone, address, version,
         created, changed)
       select f.owner, f.stream, 'human', f.payload->>'username', f.payload->>'givenName', f.payload->>'familyName',
         f.payload->>'email', f.payload->>'phone', ${addressInFact}, f.version, f.time, f.time from $facts f`,
      loginName,
      chosenId,
    ],
    credentials: [...firstPassword, ...keepPhoneCode],
  },
  machineCreated: {
    views: [
      `insert into users (owner, user_id, kind, username, name, version, created, changed)
       select f.owner, f.stream, 'machine', f.payload->>'username', f.payload->>'name', f.version, f.time, f.time
       from $facts f`,
      loginName,
      chosenId,
    ],
  },
  passwordChanged: {
    views: [touchUser(afterPasswordChange)],
    credentials: [...replacePassword, ...clearAttempts, ...dropMailCodes("password"), browsersEnd],
    cascades: [sessionsEnd],
  },
  deactivated: {
    views: [touchUser("active = false")],
    credentials: [...endSignIns, ...unsendPhoneCode, ...dropAllMailCodes, browsersEnd],
    cascades: [sessionsEnd, keepsAnOwner("user.deactivated", "m.user_id = i.stream")],
  },
  reactivated: { views: [touchUser("active = true")] },
  locked: {
    views: [touchUser("locked = true, locked_until = (f.payload->>'until')::timestamptz")],
    credentials: spendAttempts,
  },
  unlocked: {
    views: [touchUser("locked = false, locked_until = null")],
    credentials: [...clearAttempts, ...endCodesWait],
  },
  deleted: {
    views: [
      `delete from users u using $facts f where u.owner = f.owner and u.user_id = f.stream`,
      gone("login_names"),
      gone("factors"),
      gone("consents"),
    ],
    credentials: [
      ...[gone("passwords"), gone("password_history"), ...clearAttempts, ...dropPhoneCode],
      ...[...dropAllMailCodes, ...dropFactorCredentials],
      browsersEnd,
    ],
    cascades: [sessionsEnd, tokensEnd, membershipsEnd, grantsEnd, keepsAnOwner("user.deleted", "m.user_id = i.stream")],
  },
} satisfies NounFolds<"user">;
