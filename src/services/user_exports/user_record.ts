import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { UserRecordSchema } from "../../../gen/postern/v1/user_export_pb.ts";
import type { Origin } from "../../events/log.ts";
import type { Fragment, Sql } from "../../postgres/pool/connect.ts";
import { accessToken, tokensOf } from "../access_tokens/access_token.ts";
import { event } from "../audit/event.ts";
import { application, applicationsOf } from "../consents/consent.ts";
import { factor } from "../factors/factor.ts";
import { type FactorRow, factorColumns } from "../factors/factor_read.ts";
import { receivedForUser, receivedShown } from "../invitations/received_row.ts";
import { type CredentialRow, credentialsOf } from "../machine_credentials/machine.ts";
import { machineCredential } from "../machine_credentials/machine_credential.ts";
import { endedRolesOf, endedRolesShown, rolesOf, rolesShown } from "../members/user_role_list.ts";
import type { Entry } from "../metadata/metadata.ts";
import type { PagePart } from "../reading/page.ts";
import { openConnections, session } from "../sessions/session.ts";
import { type UserRow, user, userColumns } from "../users/user_row.ts";
import { arePlace, userEvents } from "./events_of_user.ts";

type RecordInit = MessageInitShape<typeof UserRecordSchema>;

/** The user whose records are read. */
export type OfUser = { readonly sql: Sql; readonly owner: string; readonly userId: string; readonly now: Date };

/** A row of a section: its keys, from which the next page continues, and its record if it has one to show. */
export type Kept = { readonly keys: readonly string[]; readonly record?: RecordInit | undefined };

/** One kind of record, in the order of its two keys. */
export type Section = {
  readonly isPlace: (keys: readonly string[]) => boolean;
  readonly read: (user: OfUser, part: PagePart) => Promise<readonly Kept[]>;
};

type Shown = Exclude<NonNullable<RecordInit["record"]>, { case: undefined }>;
type Case = Shown["case"];
type ValueOf<C extends Case> = Extract<Shown, { case: C }>["value"];

const recordOf = <C extends Case>(name: C, value: ValueOf<C>): RecordInit => ({
  record: { case: name, value } as RecordInit["record"] & object,
});

type SectionOf<C extends Case, R extends object> = {
  readonly read: (user: OfUser, part: PagePart) => PromiseLike<readonly R[]>;
  readonly shown: (row: R, user: OfUser) => ValueOf<C>;
};

/** A section of which users have few rows: its place is the number of rows already read. */
function few<C extends Case, R extends object>(
  name: C,
  { select, shown }: { select: (user: OfUser) => Fragment; shown: SectionOf<C, R>["shown"] },
): Section {
  return {
    isPlace: ([count = ""]) => /^\d{1,6}$/.test(count),
    async read(of, { after, limit }) {
      const before = Number(after?.[0] ?? 0);
      const rows = await of.sql<R[]>`${select(of)} limit ${limit} offset ${before}`;
      return rows.map((row, at) => ({ keys: [String(before + at + 1), ""], record: recordOf(name, shown(row, of)) }));
    },
  };
}

/** A section that is read by an index in the order of its keys. */
function many<C extends Case, R extends object>(
  name: C,
  { read, shown, keys }: SectionOf<C, R> & { readonly keys: (row: R) => readonly [string, string] },
): Section {
  return {
    isPlace: () => true,
    async read(of, part) {
      const rows = await read(of, part);
      return rows.map((row) => {
        const isHidden = "isMatch" in row && row.isMatch === false;
        return { keys: keys(row), record: isHidden ? undefined : recordOf(name, shown(row, of)) };
      });
    },
  };
}

/** The events about the user. If somebody else caused them, the origin of the call is that person's, and left out. */
const events: Section = {
  isPlace: arePlace,
  async read({ sql, userId }, part) {
    const found = await userEvents(sql, { ...part, userId, isActor: false });
    return found.map(({ row, keys }) => {
      const origin = row.actor === null || row.actor === userId ? row.origin : null;
      return { keys, record: recordOf("event", event({ ...row, origin })) };
    });
  },
};

/** The other events that the user caused. Their content is about others, but the origin of the call is the user's. */
const acts: Section = {
  isPlace: arePlace,
  async read({ sql, userId }, part) {
    const found = await userEvents(sql, { ...part, userId, isActor: true });
    return found.map(({ row, keys }) => {
      const { fact: _, ...act } = event(row);
      return { keys, record: row.aboutUserId === userId ? undefined : recordOf("act", act) };
    });
  },
};

type PasswordRow = { changed: Date; lastSignIn: Date | null; mustChange: boolean; earlier: number };
type CodeRow = { address: string; purpose: string; expires: Date };
type SignOnRow = Readonly<Record<"id" | "appId" | "sessionId" | "scope", string>> & {
  readonly created: Date;
  readonly expires: Date;
  readonly lastUsed: Date | null;
  readonly lastUsedOrigin: Origin | null;
};
type BrowserRow = { created: Date; expires: Date };
type MessageRow = { address: string; kind: string; created: Date };
type SentRow = { address: string; time: Date };

const signOn = ({ created, expires, lastUsed, lastUsedOrigin, ...row }: SignOnRow) => ({
  ...row,
  creationDate: timestampFromDate(created),
  expirationDate: timestampFromDate(expires),
  ...(lastUsed ? { lastUsedDate: timestampFromDate(lastUsed) } : {}),
  ...(lastUsedOrigin ? { lastUsedOrigin } : {}),
});

/** Everything that is stored about a user, in the order of the export. */
export const sections: readonly Section[] = [
  few<"user", UserRow>("user", {
    select: ({ sql, owner, userId }) => sql`
      select u.user_id as id, ${sql.unsafe(userColumns)} from all_users u where u.owner = ${owner} and u.user_id = ${userId}`,
    shown: (row, { now }) => user(row, now),
  }),
  few<"password", PasswordRow>("password", {
    select: ({ sql, userId }) => sql`
      select p.changed, p.last_sign_in as "lastSignIn", p.must_change as "mustChange",
        (select count(*) from password_history h where h.user_id = p.user_id)::integer as earlier
      from passwords p where p.user_id = ${userId}`,
    shown: (row) => ({
      changeDate: timestampFromDate(row.changed),
      ...(row.lastSignIn ? { lastSignInDate: timestampFromDate(row.lastSignIn) } : {}),
      changeRequired: row.mustChange,
      earlierPasswords: row.earlier,
    }),
  }),
  few<"code", CodeRow>("code", {
    select: ({ sql, userId, now }) => sql`
      select email as address, purpose, expiration_date as expires from mail_codes
      where user_id = ${userId} and expiration_date > ${now}
      union all
      select phone, 'phone', expiration_date from phone_codes where user_id = ${userId} and expiration_date > ${now}
      order by purpose, expires`,
    shown: ({ expires, ...row }) => ({ ...row, expirationDate: timestampFromDate(expires) }),
  }),
  few<"factor", FactorRow>("factor", {
    select: ({ sql, userId }) => sql`
      select ${sql.unsafe(factorColumns)} from factors f where f.user_id = ${userId} order by f.factor_id`,
    shown: (row) => factor(row),
  }),
  many("accessToken", {
    read: ({ sql, userId }, part) => tokensOf(sql, userId, part),
    shown: (row) => accessToken(row),
    keys: ({ id }) => [id, ""],
  }),
  many("session", {
    read: ({ sql, userId, now }, part) => openConnections(sql, userId, now, part),
    shown: (row) => session(row),
    keys: ({ id }) => [id, ""],
  }),
  many<"signOn", SignOnRow>("signOn", {
    read: ({ sql, userId }, { after, limit }) => sql<SignOnRow[]>`
      select o.sign_on_id as id, o.app_id as "appId", o.session_id as "sessionId", o.scope, o.created,
        o.expiration_date as expires, b.last_used as "lastUsed", b.last_used_origin as "lastUsedOrigin"
      from sign_ons o left join browser_sessions b on b.session_id = o.session_id
      where o.user_id = ${userId} and ${after ? sql`(o.app_id, o.sign_on_id) > (${after[0] ?? ""}, ${after[1] ?? ""})` : sql`true`}
      order by o.app_id, o.sign_on_id limit ${limit}`,
    shown: (row) => signOn(row),
    keys: ({ appId, id }) => [appId, id],
  }),
  many("application", {
    read: ({ sql, userId, now }, part) => applicationsOf(sql, userId, { ...part, now }),
    shown: (row) => application(row),
    keys: ({ appId }) => [appId, ""],
  }),
  many("roles", {
    read: ({ sql, userId }, part) => rolesOf(sql, userId, part),
    shown: (row) => rolesShown(row),
    keys: ({ owner, id }) => [owner, id],
  }),
  many("endedRoles", {
    read: ({ sql, userId }, part) => endedRolesOf(sql, userId, part),
    shown: (row) => endedRolesShown(row),
    keys: ({ organizationId, kind }) => [organizationId, kind],
  }),
  many("receivedInvitation", {
    read: ({ sql, owner, userId, now }, part) => receivedForUser(sql, { receiver: owner, userId, now }, part),
    shown: (row) => receivedShown(row),
    keys: ({ id }) => [id, ""],
  }),
  few<"browser", BrowserRow>("browser", {
    select: ({ sql, userId }) => sql`
      select created, expiration_date as expires from known_browsers where user_id = ${userId} order by created`,
    shown: (row) => ({ creationDate: timestampFromDate(row.created), expirationDate: timestampFromDate(row.expires) }),
  }),
  few<"message", MessageRow>("message", {
    select: ({ sql, userId }) => sql`
      select email as address, kind, created from mail_messages where user_id = ${userId}
      union all
      select c.phone, 'phone_code', m.created from phone_codes c join sms_messages m using (phone_code_id) where c.user_id = ${userId}
      order by created`,
    shown: ({ created, ...row }) => ({ ...row, creationDate: timestampFromDate(created) }),
  }),
  few<"sent", SentRow>("sent", {
    select: ({ sql, userId }) => sql`
      select email as address, time from mail_sends where user_id = ${userId}
      union all
      select phone, time from phone_sends where user_id = ${userId}
      order by time`,
    shown: ({ address, time }) => ({ address, date: timestampFromDate(time) }),
  }),
  events,
  acts,
  // Page tokens contain the number of their section, so new sections come last.
  few<"metadata", Entry>("metadata", {
    select: ({ sql, userId }) =>
      sql`select key, value, shared from user_metadata where user_id = ${userId} order by key`,
    shown: (row) => row,
  }),
  few<"machineCredential", CredentialRow>("machineCredential", {
    select: ({ sql, userId }) => credentialsOf(sql, userId),
    shown: (row) => machineCredential(row),
  }),
];
