import type { No } from "../writing/batch_refusal.ts";
import type { MailSettings, NewMail } from "./mail.ts";
import { addressSendsColumns } from "./mail_limits.ts";

/** The purposes of the mails with which people join an organization. */
export type JoiningPurpose = Extract<NewMail["purpose"], "invitation" | "registration">;

/** The maximum number of mails of a purpose that an organization can send within the window. */
export const mostMails = 1_000;

/** The maximum number of them that can go to the same address. */
const mostToAddress = 3;

/** The use of the sending limits by an organization's mails to an address. */
export type JoiningSends = {
  /** The time of the mail that has to leave the window before the next one: of those to the address, and of the organization's to it. */
  readonly addressLimit: Date | null;
  readonly ownLimit: Date | null;
  readonly nth: bigint;
};

/** The columns of the use of the limits by mails of `asked.owner` to the address of a SQL expression. */
export const joiningSendsColumns = (email: string, purpose: JoiningPurpose, settings: MailSettings): string => `
  (select s.time from mail_sends s where s.email = lower(${email}) and s.purpose = '${purpose}' and s.user_id = asked.owner
   order by s.n desc offset ${mostToAddress - 1} limit 1) as "ownLimit",
  ${addressSendsColumns({ email, purpose }, settings)}`;

/** SQL for the number of mails that an organization has sent since a time, up to the maximum. */
export const sentBy = (owner: string, purpose: JoiningPurpose, since: string): string => `
  (select count(*)::integer from (
    select from mail_sends s where (s.user_id, s.purpose, s.time)
      between (${owner}, '${purpose}', ${since}) and (${owner}, '${purpose}', timestamptz 'infinity')
    limit ${mostMails}) s)`;

/** The beginning of the window in which mails count. */
export const windowStart = ({ mailSendWindowSeconds }: MailSettings, now: Date): Date =>
  new Date(now.getTime() - mailSendWindowSeconds * 1000);

export type Within = { readonly settings: MailSettings; readonly now: Date };

/** Finds why no mail can be sent to an address now. */
export function refusedSend(sends: JoiningSends, { settings, now }: Within, field: string): No | undefined {
  const busy = Math.max(sends.addressLimit?.getTime() ?? 0, sends.ownLimit?.getTime() ?? 0);
  const retrySeconds = Math.ceil(busy / 1000 + settings.mailSendWindowSeconds - now.getTime() / 1000);
  return retrySeconds > 0 ? { reason: "SEND_LIMIT", field, retrySeconds } : undefined;
}

/** Finds why an organization can send no more mails now. */
export const refusedMore = (sent: number, { mailSendWindowSeconds }: MailSettings, field: string): No | undefined =>
  sent >= mostMails ? { reason: "SEND_LIMIT", field, retrySeconds: mailSendWindowSeconds } : undefined;
