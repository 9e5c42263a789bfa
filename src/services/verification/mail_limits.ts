import { refuse } from "../../errors.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { MailSettings, NewMail } from "./mail.ts";

/** How much of the sending limits is used: the times of the sends that must leave the window before the next one. */
export type MailSends = { readonly userLimit: Date | null; readonly addressLimit: Date | null; readonly nth: bigint };

/** Composes the columns of the use of the limits, for SQL expressions of the user's id and the address. */
// Compared as a row, the columns fit only one index, whatever statistics the planner has.
export const mailSendsColumns = (
  { user, email, purpose }: { user: string; email: string; purpose: NewMail["purpose"] },
  { mailSendsPerUser, mailSendsPerAddress }: MailSettings,
): string => `
  (select s.time from mail_sends s
   where (s.user_id, s.purpose, s.time)
     between (${user}, '${purpose}', timestamptz '-infinity') and (${user}, '${purpose}', timestamptz 'infinity')
   order by s.user_id desc, s.purpose desc, s.time desc offset ${mailSendsPerUser - 1} limit 1) as "userLimit",
  ${addressSendsColumns({ email, purpose }, { mailSendsPerAddress })}`;

/** The same for the limit of an address alone. */
export const addressSendsColumns = (
  { email, purpose }: { email: string; purpose: NewMail["purpose"] },
  { mailSendsPerAddress }: Pick<MailSettings, "mailSendsPerAddress">,
): string => `(select s.time from mail_sends s where s.email = lower(${email}) and s.purpose = '${purpose}'
   order by s.n desc offset ${mailSendsPerAddress - 1} limit 1) as "addressLimit",
  (select coalesce(max(s.n), 0) + 1 from mail_sends s
   where s.email = lower(${email}) and s.purpose = '${purpose}') as nth`;

/** A user, the address, and the purpose of a mail to it. */
type MailTo = { readonly userId: string; readonly email: string; readonly purpose: NewMail["purpose"] };

/** Reads the use of the limits by mails of one purpose. */
export async function mailSendsRead(sql: Sql, { userId, email, purpose }: MailTo, settings: MailSettings) {
  const columns = mailSendsColumns({ user: "$1::text", email: "$2::text", purpose }, settings);
  const [sends] = await sql.unsafe<MailSends[]>(`select ${columns}`, [userId, email], { prepare: true });
  return sends;
}

/** The seconds until the next mail may be sent; 0 or less if it may be sent now. */
export function mailWaitSeconds(sends: MailSends, { mailSendWindowSeconds }: MailSettings, now: Date): number {
  const busy = Math.max(sends.userLimit?.getTime() ?? 0, sends.addressLimit?.getTime() ?? 0);
  return Math.ceil(busy / 1000 + mailSendWindowSeconds - now.getTime() / 1000);
}

export function refuseTooManyMails(sends: MailSends, settings: MailSettings, now: Date): void {
  const retrySeconds = mailWaitSeconds(sends, settings, now);
  if (retrySeconds > 0) throw refuse.because("SEND_LIMIT", { retrySeconds });
}
