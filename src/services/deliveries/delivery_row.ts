import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { DeliveryKind, MailKind } from "../../../gen/postern/v1/delivery_pb.ts";
import type { Versioned } from "../../events/fact.ts";
import { logoutIsWanted } from "../../notify/logout/outbox.ts";
import { mailIsKept, mailLoginName } from "../../notify/mail/outbox.ts";
import type { Fragment, Sql } from "../../postgres/pool/connect.ts";
import type { PagePart } from "../reading/page.ts";

/** A message of an outbox that was given up, and perhaps sent again since. */
export type DeliveryRow = {
  readonly kind: DeliveryKind;
  readonly id: string;
  readonly owner: string;
  readonly userId: string | null;
  readonly appId: string | null;
  readonly mailKind: string | null;
  readonly address: string | null;
  readonly created: Date;
  /** Null once it is being sent again. */
  readonly dead: Date | null;
  /** The same in microseconds, for page tokens. */
  readonly deadAt: string | null;
  readonly expiration: Date | null;
  readonly attempts: number;
  readonly failure: string | null;
  readonly retries: bigint;
  readonly retried: Date | null;
  /** Whether its content is still stored, and valid until it expires. */
  readonly isKept: boolean;
  /** Whether there is somebody to receive it. */
  readonly isWanted: boolean;
};

/** The kinds of deliveries, by their numbers in the contract. */
export type Kind = typeof DeliveryKind.MAIL | typeof DeliveryKind.SMS | typeof DeliveryKind.SIGN_OUT;

type Outbox = { readonly table: string; readonly id: string; readonly columns: string };

// People who are to join an organization are not users yet.
const isOfUser = "m.kind not in ('organization_invitation', 'registration', 'registration_known')";

const outboxes: Readonly<Record<Kind, Outbox>> = {
  [DeliveryKind.MAIL]: {
    table: "mail_messages m",
    id: "m.mail_id",
    columns: `case when ${isOfUser} then m.user_id end as "userId", null::text as "appId", m.kind as "mailKind", m.email as address,
      m.expiration_date as expiration, ${mailIsKept} as "isKept", ${mailLoginName} is not null as "isWanted"`,
  },
  [DeliveryKind.SMS]: {
    table: "sms_messages m left join phone_codes c on c.phone_code_id = m.phone_code_id",
    id: "m.phone_code_id",
    columns: `m.user_id as "userId", null::text as "appId", null::text as "mailKind", c.phone as address,
      c.expiration_date as expiration, c.sealed is not null as "isKept", true as "isWanted"`,
  },
  [DeliveryKind.SIGN_OUT]: {
    table: "logout_messages m",
    id: "m.message_id",
    columns: `m.user_id as "userId", m.app_id as "appId", null::text as "mailKind", null::text as address,
      null::timestamptz as expiration, true as "isKept", ${logoutIsWanted} as "isWanted"`,
  },
};

const selected = (kind: Kind): string => {
  const { table, id, columns } = outboxes[kind];
  return `select ${kind} as kind, ${id} as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
      (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", ${columns}
    from ${table}`;
};

/** The kinds and the owner of the deliveries to read; without an organization, everybody's. */
type Wanted = { readonly kinds: readonly Kind[]; readonly owner: string | undefined };

/** Reads a page of given-up deliveries, the latest first, from the outboxes of these kinds. */
export function deliveriesOf(sql: Sql, { kinds, owner }: Wanted, { after, limit }: PagePart) {
  const [at, lastId = ""] = after ?? [];
  const before =
    at === undefined
      ? sql`timestamptz 'infinity'`
      : sql`timestamptz 'epoch' + ${at}::bigint * interval '1 microsecond'`;
  const parts = kinds.map((kind) => {
    const id = sql.unsafe(outboxes[kind].id);
    // Compared as rows, the columns fit one index only.
    const place =
      owner === undefined
        ? sql`(m.dead, ${id}) < (${before}, ${lastId}) order by m.dead desc, ${id} desc`
        : sql`(m.owner, m.dead, ${id}) < (${owner}, ${before}, ${lastId}) and (m.owner, m.dead) >= (${owner}, timestamptz '-infinity')
          order by m.owner desc, m.dead desc, ${id} desc`;
    return sql`(${sql.unsafe(selected(kind))} where m.dead is not null and ${place} limit ${limit})`;
  });
  return sql<DeliveryRow[]>`
    select * from (${joined(sql, parts)}) d order by dead desc, id desc limit ${limit}`;
}

/** Reads a delivery of these kinds. */
export async function deliveryOf(sql: Sql, id: string, { kinds, owner }: Wanted): Promise<DeliveryRow | undefined> {
  const parts = kinds.map(
    (kind) => sql`(${sql.unsafe(selected(kind))} where ${sql.unsafe(outboxes[kind].id)} = ${id})`,
  );
  const [row] = await sql<DeliveryRow[]>`
    select * from (${joined(sql, parts)}) d where ${owner === undefined ? sql`true` : sql`owner = ${owner}`}`;
  return row;
}

const joined = (sql: Sql, parts: readonly Fragment[]): Fragment =>
  parts.reduce((all, part) => sql`${all} union all ${part}`);

/** Its version and dates as the contract defines them: the version counts how often it was sent again. */
export const versioned = ({ owner, id, retries, created, retried }: DeliveryRow): Versioned => ({
  owner,
  id,
  version: retries,
  created,
  changed: retried ?? created,
});

export const isExpired = ({ isKept, expiration }: DeliveryRow, now: Date): boolean =>
  !isKept || (expiration !== null && expiration <= now);

export function delivery(row: DeliveryRow, now: Date) {
  const { kind, id, owner, userId, appId, address, failure, attempts, created, dead, expiration } = row;
  return {
    id,
    kind,
    mailKind: mailKinds.get(row.mailKind ?? "") ?? MailKind.UNSPECIFIED,
    organizationId: owner,
    ...(userId === null ? {} : { userId }),
    ...(appId === null ? {} : { appId }),
    ...(address === null ? {} : { address }),
    ...(failure === null ? {} : { failure }),
    failedAttempts: attempts,
    creationDate: timestampFromDate(created),
    ...(dead && { givenUpDate: timestampFromDate(dead) }),
    ...(expiration && { expirationDate: timestampFromDate(expiration) }),
    retryable: row.isWanted && !isExpired(row, now),
  };
}

const mailKinds: ReadonlyMap<string, MailKind> = new Map(
  Object.entries(MailKind).map(([name, kind]) => [name.toLowerCase(), kind]),
);
