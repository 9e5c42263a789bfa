import type { NounFolds, Step } from "../../events/fold.ts";
import { endCodesWait } from "../factors/factor_attempts.ts";
import { dropFactorCredentials } from "../factors/factor_fold.ts";
import { keepsAnOwnerAtHome } from "../members/last_owner.ts";
import { roleGiverFolds } from "../members/role_giver.ts";
import { clearAttempts, endSignIns, firstPassword, replacePassword, spendAttempts } from "../passwords/password.ts";
import { browsersEnd, credentialsEnd, machineTokensEnd, sessionsEnd, tokensEnd } from "../sessions/sign_ins_end.ts";
import { dropAllMailCodes, dropMailCodes, keepMailCode } from "../verification/mail_code.ts";
import { sendNotice } from "../verification/notice.ts";
import { dropPhoneCode, keepPhoneCode, unsendPhoneCode } from "../verification/phone_code.ts";
import { invitationsEnd } from "../writing/offer.ts";
import { touchUser } from "../writing/touch_user.ts";
import { emailFolds } from "./email.ts";
import { erasesUser, erasureFolds, erasureSteps, leftBehind } from "./erasure_fold.ts";
import { userUpdateFolds } from "./update_user.ts";
import { userMetadataFolds } from "./user_metadata.ts";
import { phoneFolds } from "./user_phone.ts";
import { humanInserted, machineInserted } from "./user_row.ts";
import { isOwnName, usernameFolds } from "./username.ts";

// An erased event has no login name any more.
const loginName = [
  `insert into login_names (login_name, owner, user_id)
  select f.payload->>'loginName', f.owner, f.stream from $facts f where f.payload->>'loginName' <> '' and not ${isOwnName}`,
  `insert into organization_login_names (owner, login_name, user_id, own)
  select f.owner, f.payload->>'loginName', f.stream, true from $facts f where f.payload->>'loginName' <> '' and ${isOwnName}`,
];

const chosenId = `insert into chosen_ids (id) select f.stream from $facts f where (f.payload->>'idChosen')::boolean`;

// An administrator or a mailed code takes an account back, so tokens end; users who know the old password keep the tokens that they gave to
// machines.
const tokensEndBySetting = tokensEnd(
  "((i.payload->>'byAdministrator')::boolean or (i.payload->>'byCode')::boolean) and t.token_id is distinct from i.payload->>'keepTokenId'",
);

/** Roles that others gave a user, deleted with the user. */
const whatRests: readonly Step[] = [
  {
    makes: "member.removed",
    select: `select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from $input i join members m on m.user_id = i.stream`,
  },
  {
    makes: "user_grant.removed",
    select: `select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
           from $input i join user_grants g on g.user_id = i.stream`,
  },
  invitationsEnd("join invitations v on v.recipient_id = i.stream"),
];

/** Rows created during the deletion, before the user's row was marked. */
const latecomers: readonly Step[] = [
  {
    makes: "session.ended",
    select: `select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from $input i join sessions s on s.user_id = i.stream`,
  },
  {
    makes: "access_token.revoked",
    select: `select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
           from $input i join access_tokens t on t.user_id = i.stream`,
  },
  {
    makes: "machine_credential.removed",
    select: `select i.n, c.owner, c.credential_id, c.version + 1, jsonb_build_object('userId', c.user_id)
           from $input i join machine_credentials c on c.user_id = i.stream`,
  },
  {
    makes: "consent.withdrawn",
    select: `select i.n, c.owner, c.consent_id, c.version + 1,
             jsonb_build_object('userId', c.user_id, 'appId', c.app_id, 'byAdministrator', true)
           from $input i join consents c on c.user_id = i.stream`,
  },
];

const gone = (table: string) => `delete from ${table} t using $facts f where t.user_id = f.stream`;

const rowGone = "delete from all_users u using $facts f where u.owner = f.owner and u.user_id = f.stream";

const endMachineTokens = [
  machineTokensEnd("select c.credential_id from $facts f join machine_credentials c on c.user_id = f.stream"),
  gone("exchanged_tokens"),
];

// A trigger removes the row that represents a name of the directory in its organization.
const goneAtOnce = [
  ...[gone("login_names"), gone("factors"), gone("consents"), gone("ended_roles"), gone("user_metadata")],
  gone("machine_client_ids"),
  gone("machine_delegations"),
  `delete from organization_login_names t using $facts f
   where t.owner = f.owner and t.user_id = f.stream and t.own`,
];

// A code that reached the mailbox verifies the address and ends a lock that expires by itself: guesses at the old password are now
// worthless.
const afterPasswordChange = `
  email_verified = t.email_verified or coalesce((f.payload->>'emailVerified')::boolean, false),
  proven_email = case when (f.payload->>'emailVerified')::boolean then lower(t.email) else t.proven_email end,
  locked = t.locked and (t.locked_until is null or not coalesce((f.payload->>'byCode')::boolean, false)),
  locked_until = case when not coalesce((f.payload->>'byCode')::boolean, false) then t.locked_until end`;

/** The folds of facts about a user: they write its row, its credentials, and the rows that depend on it. */
export const userFolds = {
  ...phoneFolds,
  ...userUpdateFolds,
  ...usernameFolds,
  ...emailFolds,
  ...roleGiverFolds,
  ...erasureFolds,
  ...userMetadataFolds,
  passwordCodeRequested: { views: [touchUser()], credentials: keepMailCode },
  humanCreated: {
    views: [`${humanInserted} from $facts f`, ...loginName, chosenId],
    credentials: [...firstPassword, ...keepPhoneCode, ...keepMailCode],
  },
  machineCreated: {
    views: [
      `${machineInserted}
       from $facts f`,
      ...loginName,
      chosenId,
    ],
  },
  passwordChanged: {
    views: [touchUser(afterPasswordChange)],
    credentials: [
      ...replacePassword,
      ...clearAttempts,
      ...dropMailCodes("password", "sign_in", "first_run", "recovery"),
      browsersEnd,
      ...sendNotice("i.stream"),
    ],
    cascades: [sessionsEnd, tokensEndBySetting],
  },
  passwordRemoved: {
    views: [touchUser()],
    credentials: [
      "delete from passwords p using $facts f where p.user_id = f.stream",
      ...clearAttempts,
      ...dropMailCodes("password", "sign_in", "first_run", "recovery"),
      browsersEnd,
    ],
    cascades: [sessionsEnd],
  },
  deactivated: {
    views: [touchUser("active = false")],
    credentials: [...[...endSignIns, ...unsendPhoneCode, ...dropAllMailCodes, browsersEnd], ...endMachineTokens],
    cascades: [sessionsEnd, keepsAnOwnerAtHome("user.deactivated")],
  },
  // A token that was being written during the deactivation still exists.
  reactivated: { views: [touchUser("active = true")], credentials: endMachineTokens },
  clientIdAssigned: {
    views: [
      touchUser(),
      `insert into machine_client_ids (client_id, owner, user_id) select f.payload->>'clientId', f.owner, f.stream from $facts f`,
    ],
  },
  delegationSet: {
    views: [
      touchUser(),
      `insert into machine_delegations as d (user_id, owner, served, targets)
       select f.stream, f.owner, coalesce(f.payload->'servedResources', '[]'), coalesce(f.payload->'targetResources', '[]') from $facts f
       on conflict (user_id) do update set served = excluded.served, targets = excluded.targets`,
    ],
  },
  locked: {
    views: [touchUser("locked = true, locked_until = (f.payload->>'until')::timestamptz")],
    credentials: spendAttempts,
  },
  unlocked: {
    views: [touchUser("locked = false, locked_until = null")],
    credentials: [...clearAttempts, ...endCodesWait],
  },
  deleted: {
    views: [rowGone, ...goneAtOnce],
    credentials: [
      ...[gone("passwords"), gone("password_history"), ...clearAttempts, ...dropPhoneCode],
      ...[...dropAllMailCodes, ...dropFactorCredentials, gone("known_browsers"), gone("acting_machines")],
      browsersEnd,
    ],
    cascades: [
      ...[sessionsEnd, tokensEnd(), credentialsEnd, keepsAnOwnerAtHome("user.deleted")],
      ...whatRests.map((step) => ({ ...step, extent: "many" as const })),
    ],
    later: {
      always: erasesUser,
      begins: [
        `update all_users u set active = false, deleted = true, erasure_date = null from $facts f
         where u.owner = f.owner and u.user_id = f.stream`,
        ...goneAtOnce,
      ],
      steps: [...whatRests, ...latecomers, ...erasureSteps],
      ends: [gone("factors"), rowGone, ...leftBehind],
    },
  },
} satisfies NounFolds<"user">;
