import type { Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import type { NewFact } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { makePhoneCode } from "../../security/phone_code.ts";
import { phoneNumberOf } from "./phone_number.ts";
import { codeAttempts } from "./verification.ts";

/** Settings of phones. */
export type PhoneSettings = {
  /** The region of numbers without a prefix; without a region, such numbers are refused. */
  readonly phoneDefaultRegion: string | undefined;
  /** The maximum number of codes sent to a user within the window. */
  readonly phoneSendsPerUser: number;
  /** The maximum number of codes sent to a number within the window. */
  readonly phoneSendsPerNumber: number;
  readonly phoneSendWindowSeconds: number;
};

export const codeSeconds = 600;

/** How much of the sending limits is used: the times of the sends that must leave the window before the next one. */
export type Sends = { readonly userLimit: Date | null; readonly numberLimit: Date | null; readonly nth: bigint };

/** A new code: its text, and the secret that its fact carries. */
export type NewCode = {
  readonly id: string;
  readonly code: string;
  readonly secret: { readonly phoneCode: StoredCode };
};

type StoredCode = {
  readonly id: string;
  readonly phone: string;
  readonly mac: string;
  readonly sealed: string | null;
  readonly expirationDate: string;
  readonly nth: string | null;
};

/** Composes the columns of the use of the limits, for SQL expressions of the user's id and the number. */
// Compared as a row, user and time fit only one index: while the table was new the planner chose that of the time, and read all sends.
export const sendsColumns = (
  user: string,
  phone: string,
  { phoneSendsPerUser, phoneSendsPerNumber }: PhoneSettings,
): string => `
  (select s.time from phone_sends s
   where (s.user_id, s.time) between (${user}, timestamptz '-infinity') and (${user}, timestamptz 'infinity')
   order by s.user_id desc, s.time desc offset ${phoneSendsPerUser - 1} limit 1) as "userLimit",
  (select s.time from phone_sends s where s.phone = ${phone}
   order by s.n desc offset ${phoneSendsPerNumber - 1} limit 1) as "numberLimit",
  (select coalesce(max(s.n), 0) + 1 from phone_sends s where s.phone = ${phone}) as nth`;

export function refuseTooMany(
  { userLimit, numberLimit }: Sends,
  { phoneSendWindowSeconds }: PhoneSettings,
  now: Date,
): void {
  const busy = Math.max(userLimit?.getTime() ?? 0, numberLimit?.getTime() ?? 0);
  const retrySeconds = Math.ceil(busy / 1000 + phoneSendWindowSeconds - now.getTime() / 1000);
  if (retrySeconds > 0) throw refuse.because("SEND_LIMIT", { retrySeconds });
}

/** Makes codes; `nth` counts the sends, and is absent for a code that the response returns. */
export const phoneCodes =
  ({ ids, clock, secrets }: Pick<Deps, "ids" | "clock" | "secrets">) =>
  ({ userId, phone, nth }: { userId: string; phone: string; nth?: bigint }): NewCode => {
    const id = ids();
    const { code, mac, seal } = makePhoneCode(secrets.keyring, { id, userId, phone });
    const phoneCode = {
      id,
      phone,
      mac: mac.toString("hex"),
      sealed: nth === undefined ? null : Buffer.from(seal()).toString("hex"),
      expirationDate: new Date(clock().getTime() + codeSeconds * 1000).toISOString(),
      nth: nth === undefined ? null : String(nth),
    };
    return { id, code, secret: { phoneCode } };
  };

/** Makes a new user's phone with the code to send; undefined if the request has no phone. */
export function phoneOfNewUser(deps: Deps, settings: PhoneSettings) {
  const sendsTo = sendsRead(deps.sql, settings);
  const make = phoneCodes(deps);

  return async (user: { id: string; phone: string; inactive: boolean }, signal?: AbortSignal) => {
    if (user.phone === "") return undefined;
    const phone = phoneNumberOf(user.phone, settings.phoneDefaultRegion);
    if (user.inactive) return { phone, phoneCodeId: undefined, secret: undefined };
    const sends = await sendsTo({ id: user.id, phone }, signal);
    if (!sends) throw new Error("sends are always counted");
    refuseTooMany(sends, settings, deps.clock());
    const { id, secret } = make({ userId: user.id, phone, nth: sends.nth });
    return { phone, phoneCodeId: id, secret };
  };
}

const sendsRead = (sql: Sql, settings: PhoneSettings) =>
  loadOne<{ id: string; phone: string }, Sends>(sql, {
    asked: "id text, phone text",
    select: `select n, ${sendsColumns("asked.id", "asked.phone", settings)} from asked`,
  });

/** Whether the fact has a code to send, whose id it then holds. A code in the response has no id in the log. */
export const sendsCode = ({ payload }: Pick<NewFact, "payload">): boolean =>
  payload !== null && typeof payload === "object" && "phoneCodeId" in payload;

/**
 * Credentials of a fact whose secret may hold a code, which replaces the user's previous one and counts against the limits. A trigger on
 * phone_codes writes the SMS of a sealed code, because nodes of earlier releases rely on it during an upgrade.
 */
export const keepPhoneCode: readonly string[] = [
  `insert into phone_codes (phone_code_id, owner, user_id, phone, mac, sealed, expiration_date, creator_id)
   select c.code->>'id', i.owner, i.stream, c.code->>'phone', decode(c.code->>'mac', 'hex'),
     decode(c.code->>'sealed', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor
   from $input i cross join lateral (select i.secret->'phoneCode' as code) c where c.code is not null
   on conflict (user_id) do update set phone_code_id = excluded.phone_code_id, phone = excluded.phone, mac = excluded.mac,
     sealed = excluded.sealed, attempts = 0, expiration_date = excluded.expiration_date,
     creator_id = excluded.creator_id`,
  `insert into phone_sends (phone, n, user_id, time)
   select c.code->>'phone', (c.code->>'nth')::bigint, i.stream, i.time
   from $input i cross join lateral (select i.secret->'phoneCode' as code) c where c.code->>'nth' is not null`,
];

/** Credentials of a fact that invalidates the user's code. */
export const dropPhoneCode: readonly string[] = [`delete from phone_codes c using $facts f where c.user_id = f.stream`];

/** Credentials of a fact after which no code is sent to the user: an SMS without its sealed code is dropped. */
export const unsendPhoneCode: readonly string[] = [
  `update phone_codes c set sealed = null from $facts f where c.user_id = f.stream and c.sealed is not null`,
];

/** A code with this attempt already counted. */
export type TriedCode = { readonly id: string; readonly phone: string; readonly mac: Uint8Array };

/** Counts an attempt at the user's code before checking it; undefined if none is left or no code is valid. */
export async function reserveAttempt(sql: Sql, userId: string, now: Date): Promise<TriedCode | undefined> {
  const [tried] = await sql<TriedCode[]>`
    update phone_codes set attempts = attempts + 1
    where user_id = ${userId} and attempts < ${codeAttempts} and expiration_date > ${now}
    returning phone_code_id as id, phone, mac`;
  return tried;
}
