import { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { joiningCodeHash } from "../../security/mailed_secret.ts";
import { inForce } from "../callers/in_force.ts";
import { emailIsVouchedFor } from "../callers/login_name.ts";
import { countNetwork } from "../callers/network_rate.ts";
import { type InvitationRow, invitationColumns, itsAddress } from "./invitation_row.ts";

/** The maximum number of wrong codes from one address per minute on this node; 0 sets no limit. */
export type AnswerSettings = { readonly signInFailuresPerAddressPerMinute: number };

/** The counts of wrong codes, and of names tried with a correct one. */
export const guessesAt = ({ failureRate }: Pick<Deps, "failureRate">, settings: AnswerSettings) =>
  failureRate("codes of invitations", settings.signInFailuresPerAddressPerMinute);

/** An invitation that can be accepted, as seen by somebody with its code. */
export type OpenInvitation = InvitationRow & {
  readonly organizationName: string;
  readonly organizationActive: boolean;
  /** The name of the inviter; empty if the inviter is gone. */
  readonly inviterName: string;
  /** Whether the inviter may sign in. */
  readonly inviterActive: boolean;
  /** The names of the projects in the offers, by their ids. */
  readonly projectNames: Readonly<Record<string, string>>;
};

/** Makes the lookup of an invitation by its code. The guess is counted before the lookup; a correct one is taken back. */
export function opening(deps: Deps, settings: AnswerSettings) {
  const read = openRead(deps.sql);
  const guesses = guessesAt(deps, settings);
  return async (code: string, call: Call): Promise<OpenInvitation> => {
    const uncount = countNetwork(guesses, call);
    const hash = joiningCodeHash(code).toString("hex");
    const found = await read({ hash, now: deps.clock().toISOString() }, call.signal);
    if (!found) {
      deps.noteAttempt({ case: "codeRefused", value: { purpose: CodePurpose.INVITATION } }, undefined, call);
      throw refuse.because("CODE_INVALID", { violations: [notInForce] });
    }
    uncount();
    return found;
  };
}

const notInForce: Violation = { field: "code", text: "CODE_NOT_IN_FORCE", reason: "CODE_INVALID" };

const projectsNamed = (offers: string) => `select j->>'projectId' from jsonb_array_elements(${offers}) j`;

const openRead = (sql: Sql) =>
  loadOne<{ hash: string; now: string }, OpenInvitation>(sql, {
    asked: "hash text, now timestamptz",
    select: `select n, ${invitationColumns}, h.name as "organizationName", h.active as "organizationActive",
        coalesce(concat_ws(' ', u.given_name, u.family_name), '') as "inviterName",
        coalesce(${inForce("u")}, false) as "inviterActive",
        coalesce((select jsonb_object_agg(j.id, p.name)
          from (${projectsNamed("v.memberships")} union ${projectsNamed("v.grants")}) j (id)
          cross join lateral (select p.name from projects p where p.project_id = j.id limit 1) p), '{}') as "projectNames"
      from asked
      join mail_codes c on c.mac = decode(asked.hash, 'hex') and c.purpose = 'invitation' and c.expiration_date > asked.now
      join invitations v on v.invitation_id = c.user_id ${itsAddress}
      join organizations h on h.organization_id = v.owner and not h.deleted
      left join users u on u.user_id = v.inviter_id`,
  });

/** Whether an account has the invited address: no, yes, or only its user says so. */
export type Match = "other" | "same" | "unconfirmed";

/** An account: how its address compares with the invited one, and its organization. */
export type Account = { readonly match: Match; readonly organizationName: string };

/**
 * Makes the read of the account with which a user would accept an invitation. Its address counts if it is verified or if an administrator
 * has set it. Otherwise anybody with a forwarded mail could enter the invited address and accept with any account.
 */
export function accountsFor(sql: Sql) {
  const read = loadOne<{ id: string }, { email: string | null; isVouchedFor: boolean; organizationName: string }>(sql, {
    asked: "id text",
    select: `select n, u.email, coalesce(${emailIsVouchedFor("u")}, false) as "isVouchedFor", h.name as "organizationName"
             from asked join users u on u.user_id = asked.id join organizations h on h.organization_id = u.owner`,
  });
  return async ({ email }: OpenInvitation, userId: string, call: Call): Promise<Account> => {
    const row = await read({ id: userId }, call.signal);
    const organizationName = row?.organizationName ?? "";
    // Mail servers ignore case.
    if (row?.email?.toLowerCase() !== email.toLowerCase()) return { match: "other", organizationName };
    return { match: row.isVouchedFor ? "same" : "unconfirmed", organizationName };
  };
}
