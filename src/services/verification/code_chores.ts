import type { Deps } from "../../deps.ts";
import type { Chore } from "../../events/sweep.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import type { MailSettings } from "./mail.ts";
import type { PhoneSettings } from "./phone_code.ts";

export type WindowSettings = Pick<PhoneSettings & MailSettings, "phoneSendWindowSeconds" | "mailSendWindowSeconds">;

/** Deletes counts of SMS and mails that are out of their window, and expired codes of mails. */
export const codeChores = (
  { sql, clock }: Pick<Deps, "sql" | "clock">,
  { phoneSendWindowSeconds, mailSendWindowSeconds }: WindowSettings,
): readonly Chore[] => {
  const secondsAgo = (seconds: number) => new Date(clock().getTime() - seconds * 1000);
  return [
    {
      name: "counted sends of codes",
      batch: async (most) => (await deleteSends(sql, secondsAgo(phoneSendWindowSeconds), most)).count,
    },
    {
      name: "counted mails",
      batch: async (most) => (await deleteMailSends(sql, secondsAgo(mailSendWindowSeconds), most)).count,
    },
    { name: "expired codes of mails", batch: async (most) => (await deleteMailCodes(sql, clock(), most)).count },
  ];
};

const deleteSends = (sql: Sql, before: Date, most: number) => sql`
  delete from phone_sends where (phone, n) in (
    select phone, n from phone_sends where time < ${before} order by time limit ${most} for update skip locked)`;

const deleteMailSends = (sql: Sql, before: Date, most: number) => sql`
  delete from mail_sends where (email, purpose, n) in (
    select email, purpose, n from mail_sends where time < ${before} order by time limit ${most} for update skip locked)`;

const deleteMailCodes = (sql: Sql, now: Date, most: number) => sql`
  delete from mail_codes where mail_code_id in (
    select mail_code_id from mail_codes where expiration_date <= ${now}
    order by expiration_date limit ${most} for update skip locked)`;
