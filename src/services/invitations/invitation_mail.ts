import type { Call, Deps } from "../../deps.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { joiningMails } from "../verification/joining_mail.ts";
import { sentBy, type Within, windowStart } from "../verification/joining_mail_limits.ts";
import type { MailSettings } from "../verification/mail.ts";
import { mostInvitations } from "../writing/offer.ts";

/** The number of days for which an invitation can be accepted; the mail states it. */
const invitationDays = 7;

/** How many invitations an organization has, how many mails it has sent within the window, and its name. */
export type OrganizationUse = { readonly invitations: number; readonly sent: number; readonly name: string };

/** Reads how much of its limits an organization has used; both counts stop at the maximum. */
export async function useOf(sql: Sql, owner: string, { settings, now }: Within): Promise<OrganizationUse> {
  const [row] = await sql.unsafe<OrganizationUse[]>(useText, [owner, windowStart(settings, now)], { prepare: true });
  return row ?? { invitations: 0, sent: 0, name: "" };
}

const useText = `
    select o.name,
      (select count(*)::integer from (
        select from invitations v where v.owner = $1::text limit ${mostInvitations}) v) as invitations,
      ${sentBy("$1::text", "invitation", "$2::timestamptz")} as sent
    from organizations o where o.organization_id = $1::text`;

/** An invitation to mail. */
export type Invited = { readonly email: string; readonly organizationName: string; readonly nth: bigint };

/** Makes the code of an invitation and the mail with it, in the form of its fact's secret. */
export function invitationMails(deps: Pick<Deps, "ids" | "clock" | "secrets">, settings: MailSettings) {
  const { withCode } = joiningMails(deps, settings);
  const kind = { kind: "organization_invitation", purpose: "invitation", seconds: invitationDays * 86_400 } as const;
  return (invited: Invited, call: Call) => withCode({ ...invited, ...kind }, call);
}
