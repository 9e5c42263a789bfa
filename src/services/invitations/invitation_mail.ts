import { type Call, type Deps, keys } from "../../deps.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { makeInvitationCode } from "../../security/mail_code.ts";
import { addressSendsColumns, type MailCodeSecret, type MailSettings, mailSecret } from "../verification/mail_code.ts";
import type { No } from "../writing/batch_refusal.ts";

/** For how long an invitation can be accepted; the mail says so. */
export const invitationDays = 7;

/** How many invitations an organization can have, and how many mails it can send within the window. */
export const mostInvitations = 1_000;

/** How many mails an organization can send to an address within the window. */
const mostToAddress = 3;

/** The use of the sending limits by an organization's mails to an address. */
export type InvitationSends = {
  /** When the mail was sent that has to leave the window before the next one: of those to the address, and of the organization's to it. */
  readonly addressLimit: Date | null;
  readonly ownLimit: Date | null;
  readonly nth: bigint;
};

const purpose = "invitation";

/** The columns of the use of the limits by mails of `asked.owner` to the address of a SQL expression. */
export const sendsColumns = (email: string, settings: MailSettings): string => `
  (select s.time from mail_sends s where s.email = lower(${email}) and s.purpose = '${purpose}' and s.user_id = asked.owner
   order by s.n desc offset ${mostToAddress - 1} limit 1) as "ownLimit",
  ${addressSendsColumns({ email, purpose }, settings)}`;

/** How many invitations an organization has, how many mails it has sent within the window, and its name. */
export type OrganizationUse = { readonly invitations: number; readonly sent: number; readonly name: string };

/** Reads how much of its limits an organization has used; both counts end at the most. */
export async function useOf(sql: Sql, owner: string, { settings, now }: Within): Promise<OrganizationUse> {
  const since = new Date(now.getTime() - settings.mailSendWindowSeconds * 1000);
  const [row] = await sql<OrganizationUse[]>`
    select o.name,
      (select count(*)::integer from (select from invitations v where v.owner = ${owner} limit ${mostInvitations}) v) as invitations,
      (select count(*)::integer from (
        select from mail_sends s where (s.user_id, s.purpose, s.time)
          between (${owner}, ${purpose}, ${since}) and (${owner}, ${purpose}, timestamptz 'infinity')
        limit ${mostInvitations}) s) as sent
    from organizations o where o.organization_id = ${owner}`;
  return row ?? { invitations: 0, sent: 0, name: "" };
}

type Within = { readonly settings: MailSettings; readonly now: Date };

/** Finds why no mail can be sent to an address now. */
export function refusedSend(sends: InvitationSends, { settings, now }: Within, field: string): No | undefined {
  const busy = Math.max(sends.addressLimit?.getTime() ?? 0, sends.ownLimit?.getTime() ?? 0);
  const retrySeconds = Math.ceil(busy / 1000 + settings.mailSendWindowSeconds - now.getTime() / 1000);
  return retrySeconds > 0 ? { reason: "SEND_LIMIT", field, retrySeconds } : undefined;
}

/** Finds why an organization can send no more mails now. */
export const refusedMore = (sent: number, { mailSendWindowSeconds }: MailSettings, field: string): No | undefined =>
  sent >= mostInvitations ? { reason: "SEND_LIMIT", field, retrySeconds: mailSendWindowSeconds } : undefined;

/** An invitation to mail. */
export type Invited = { readonly email: string; readonly organizationName: string; readonly nth: bigint };

/** Makes the code of an invitation and the mail that brings it, as its fact's secret holds them. */
export const invitationMails =
  (deps: Pick<Deps, "ids" | "clock" | "secrets">, settings: MailSettings) =>
  ({ email, organizationName, nth }: Invited, call: Call) => {
    const id = deps.ids();
    const { code, hash } = makeInvitationCode();
    const expirationDate = new Date(deps.clock().getTime() + invitationDays * 86_400_000);
    const mailCode: MailCodeSecret = {
      id,
      purpose,
      email,
      mac: hash.toString("hex"),
      mailId: id,
      expirationDate: expirationDate.toISOString(),
    };
    const language = call.values.get(keys.language) ?? settings.mailLanguage;
    const codes = [{ loginName: nameInMail(organizationName), code }];
    const mail = { kind: "organization_invitation", purpose, email, language, codes, expirationDate, nth } as const;
    return { expirationDate, secret: { mailCode, mail: mailSecret(deps, id, mail) } };
  };

const longestName = 100;

// Mail programs make links of addresses, and whoever names an organization must not have us mail theirs.
const likeAnAddress = /[\p{L}\p{N}][.:@/][\p{L}\p{N}/]/u;

/** The name of an organization as mails have it; empty if it is long or contains what may become a link. */
export const nameInMail = (name: string): string =>
  name.length > longestName || likeAnAddress.test(name) || /[\p{C}\n]/u.test(name) ? "" : name;
