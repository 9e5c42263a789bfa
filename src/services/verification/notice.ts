import type { JsonObject } from "@bufbuild/protobuf";
import type { Call, Deps } from "../../deps.ts";
import type { NoticeKind, NoticeTopic } from "../../messages/mail_texts.ts";
import { languageOf, languageOfMail, type MailSettings } from "./mail.ts";

/** Settings of the mails about changes to an account. */
export type NoticeSettings = MailSettings & {
  /** The changes that users are notified of. */
  readonly mailNotices: readonly NoticeTopic[];
};

/** How long delivery of a notice is retried, and how long its code can restore an address. */
export const noticeSeconds = 3 * 86_400;

const topics = {
  password_changed: "password",
  factor_added: "factor",
  factor_removed: "factor",
  email_changed: "email",
  email_replaced: "email",
  new_device: "device",
  account_deleted: "account",
} as const satisfies Record<NoticeKind, NoticeTopic>;

/** Makes notices of a kind, as part of the secret of the fact that they are about; nothing if the settings exclude them. */
export const notices =
  ({ ids, clock }: Pick<Deps, "ids" | "clock">, settings: NoticeSettings) =>
  (kind: NoticeKind, call: Pick<Call, "values">): { readonly notice?: JsonObject } => {
    if (!settings.mailNotices.includes(topics[kind])) return {};
    const now = clock().getTime();
    const before = (seconds: number) => new Date(now - seconds * 1000).toISOString();
    const notice = {
      id: ids(),
      kind,
      language: languageOfMail(call, settings),
      expirationDate: before(-noticeSeconds),
      since: before(settings.mailSendWindowSeconds),
      mostToAddress: settings.mailSendsPerAddress,
      ...mostToUser(kind),
    };
    return { notice };

    // An enrolment creates several factors at once; one mail covers them.
    function mostToUser(of: NoticeKind) {
      return topics[of] === "factor"
        ? { mostToUser: 1, userSince: before(60) }
        : { mostToUser: settings.mailSendsPerUser, userSince: before(settings.mailSendWindowSeconds) };
    }
  };

// The address is the verified one from before the fact.
const due = (user: string) => `
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from $input i cross join lateral (select i.secret->'notice' as notice) m
  join users u on u.user_id = ${user} and u.email_verified
  where m.notice is not null and not exists (
      select from mail_sends s where (s.user_id, s.purpose, s.time)
        between (u.user_id, m.notice->>'kind', (m.notice->>'userSince')::timestamptz)
          and (u.user_id, m.notice->>'kind', timestamptz 'infinity')
      offset (m.notice->>'mostToUser')::integer - 1)
    and not exists (
      select from mail_sends s where s.email = lower(u.email) and s.purpose = m.notice->>'kind'
        and s.time > (m.notice->>'since')::timestamptz
      offset (m.notice->>'mostToAddress')::integer - 1)`;

/** Credentials of a fact that may have a notice: the mail and its count, within the limits. The user is a SQL expression. */
export const sendNotice = (user: string): readonly string[] => [
  `insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select d.notice->>'id', d.owner, d.user_id, d.notice->>'kind', d.email, ${languageOf("d.user_id", "d.notice->>'language'")},
     decode(d.notice->>'sealed', 'hex'), (d.notice->>'expirationDate')::timestamptz, d.time
   from (${due(user)}) d`,
  `insert into mail_sends (email, purpose, n, user_id, time)
   select lower(d.email), d.notice->>'kind', (extract(epoch from d.time) * 1000)::bigint * 1000 + d.n, d.user_id, d.time
   from (${due(user)}) d
   on conflict (email, purpose, n) do nothing`,
];
