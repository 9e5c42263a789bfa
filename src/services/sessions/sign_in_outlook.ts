import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { hasName, type PublicSettings, relyingParty } from "../../security/passkey.ts";
import { qualifiedName } from "../callers/login_name.ts";
import { hasFullFactor } from "../factors/factor_read.ts";
import { waitOf } from "../passwords/name_wait.ts";
import { changeReason, isLocked, isTried, type PasswordUser, passwordColumns } from "../passwords/password.ts";
import { takesMailCodes } from "../passwords/sign_in_mail.ts";
import { enrolmentReason } from "./first_step.ts";

/** A user who might sign in, as read for a sign-in. */
export type OutlookUser = PasswordUser & {
  /** The state of the user alone, regardless of the organization's. */
  readonly isItselfActive: boolean;
  readonly takesMailCodes: boolean;
  /** The username as it is unique in the instance. */
  readonly qualifiedName: string;
};

/** How a user would begin to sign in in an unknown browser, or why they cannot, and until when. */
export type FirstOutlook =
  | { readonly by: "password" | "passkey" | "mail" }
  | { readonly shut: "locked" | "waiting"; readonly until: Date | undefined }
  | { readonly shut: "empty" };

/** The steps that a sign-in in an unknown browser would ask of a user. */
export type SignInOutlook = {
  readonly first: FirstOutlook;
  readonly change: ReturnType<typeof changeReason>;
  /** The second factor: it is entered, or enrolled for a reason, or not asked for. */
  readonly factor: "entered" | "none" | Exclude<ReturnType<typeof enrolmentReason>, undefined>;
};

/** The user of a sign-in, its time, and whether its page would offer mailed codes for the name typed. */
type Asked = {
  readonly of: Readonly<Record<"owner" | "id", string>>;
  readonly now: Date;
  readonly offersMail: (loginName: string) => Promise<boolean>;
};

/** Reads a user, and the steps that a sign-in would ask for; it counts nothing. */
export function signInOutlookRead(sql: Sql, settings: PublicSettings) {
  const read = outlookUserRead(sql);
  const takesPasskeys = hasName(relyingParty(settings));
  return async ({ of, now, offersMail }: Asked, signal: AbortSignal) => {
    const [found, waitUntil] = await Promise.all([read(of, signal), waitOf(sql, of.id, now)]);
    if (!found) return undefined;
    const takesMailCodes = found.takesMailCodes && (await offersMail(found.qualifiedName));
    const user = { ...found, takesMailCodes };
    return { user, outlook: outlookOf(user, { now, waitUntil, takesPasskeys }) };
  };
}

const outlookUserRead = (sql: Sql) =>
  loadOne<{ owner: string; id: string }, OutlookUser>(sql, {
    asked: "owner text, id text",
    select: `select n, ${passwordColumns}, u.active as "isItselfActive", (${takesMailCodes}) as "takesMailCodes",
               ${qualifiedName("u")} as "qualifiedName"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id
             left join passwords p on p.user_id = u.user_id`,
  });

type Moment = { readonly now: Date; readonly waitUntil: Date | undefined; readonly takesPasskeys: boolean };

/** Decides by the rules of the sign-in what it would ask for. After a passkey, it asks for nothing else. */
export function outlookOf(user: OutlookUser, moment: Moment): SignInOutlook {
  const first = firstOf(user, moment);
  if ("by" in first && first.by === "passkey") return { first, change: undefined, factor: "none" };
  const factor = hasFullFactor(user.factorKinds)
    ? "entered"
    : (enrolmentReason(user, { enrolment: "required" }) ?? "none");
  return { first, change: changeReason(user, moment.now), factor };
}

function firstOf(user: OutlookUser, { now, waitUntil, takesPasskeys }: Moment): FirstOutlook {
  const [hasPassword, locked] = [isTried(user), isLocked(user, now)];
  if (hasPassword && !locked && !waitUntil) return { by: "password" };
  if (takesPasskeys && user.factorKinds.includes("passkey")) return { by: "passkey" };
  if (user.takesMailCodes && !locked) return { by: "mail" };
  if (!hasPassword && !user.takesMailCodes) return { shut: "empty" };
  return locked ? { shut: "locked", until: user.lockedUntil ?? undefined } : { shut: "waiting", until: waitUntil };
}
