import type { JsonValue } from "@bufbuild/protobuf";
import type { NounFolds, Step, Walk } from "../../events/fold.ts";
import { personalFields } from "../../events/personal.ts";
import { keepsAnOwnerAtHome } from "../members/last_owner.ts";
import { endSignIns } from "../passwords/password.ts";
import { browsersEnd, credentialsEnd, sessionsEnd, tokensEnd } from "../sessions/sign_ins_end.ts";
import { dropAllMailCodes } from "../verification/mail_code.ts";
import { sendNotice } from "../verification/notice.ts";
import { dropPhoneCode } from "../verification/phone_code.ts";

/** Composes the update of a user's row that other reads do not find. */
const touchHidden = (columns: string): string =>
  `update all_users u set ${columns}, version = f.version, changed = f.time
   from $facts f where u.owner = f.owner and u.user_id = f.stream`;

const mailsUnsent = "delete from mail_messages m using $facts f where m.user_id = f.stream";

/** The folds of erasure. A user who is waiting for it keeps everything that by itself gives no access. */
export const erasureFolds = {
  erasureScheduled: {
    views: [touchHidden("deleted = true, erasure_date = (f.payload->>'erasureDate')::timestamptz")],
    credentials: [
      ...endSignIns,
      ...dropPhoneCode,
      ...dropAllMailCodes,
      browsersEnd,
      mailsUnsent,
      ...sendNotice("i.stream"),
    ],
    cascades: [sessionsEnd, tokensEnd(), credentialsEnd, keepsAnOwnerAtHome("user.erasure_scheduled")],
  },
  restored: { views: [touchHidden("deleted = false, erasure_date = null")] },
  erased: {},
} satisfies Pick<NounFolds<"user">, "erasureScheduled" | "restored" | "erased">;

/** Whether a deletion also erases personal data from the log. */
export const erasesUser = (deleted: JsonValue): boolean =>
  typeof deleted === "object" && deleted !== null && !Array.isArray(deleted) && deleted.erases === true;

const eventsOfUser: Walk = {
  isFor: erasesUser,
  walks: `select examined as count, place as after
    from erase_events($1::text, '${JSON.stringify(personalFields())}'::jsonb, $3::text::jsonb, $2::integer)`,
};

// Once: a user who is deleted has no other events.
const saysSo: Step = {
  makes: "user.erased",
  isFor: erasesUser,
  select: `select i.n, i.owner, i.stream, last.version + 1, jsonb_build_object()
           from $input i cross join lateral (
             select e.version, e.type from events e where e.owner = i.owner and e.stream = i.stream
             order by e.version desc limit 1) last
           where last.type <> 'user.erased'`,
};

/** The additional steps of a deletion that also erases: the job visits every event about the user. */
export const erasureSteps: readonly (Step | Walk)[] = [eventsOfUser, saysSo];

const ofUser = (table: string): string => `delete from ${table} t using $facts f where t.user_id = f.stream`;

/** Other data about a user that is kept for a while: messages to them, machines that acted for them, responses, and origins of jobs. */
export const leftBehind: readonly string[] = [
  ...[mailsUnsent, ofUser("mail_sends"), ofUser("phone_sends"), ofUser("acting_machines")],
  "delete from idempotency t using $facts f where t.caller = f.stream",
  "update jobs j set origin = null from $facts f where j.owner = f.owner and j.stream = f.stream and j.actor = f.stream",
];
