// The statements with which the release before 0006-sms-outbox wrote, gathered, took and settled SMS, as that release sent
// them. Its nodes run beside newer ones during a rolling upgrade.

import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { NewFact } from "../../../src/events/fact.ts";
import type { Sms } from "../../../src/notify/sms/sms.ts";
import { migrate } from "../../../src/postgres/migrate.ts";
import type { Sql } from "../../../src/postgres/pool/connect.ts";
import { openPhoneCode } from "../../../src/security/phone_code.ts";
import type { Keyring } from "../../../src/security/seal.ts";

const migrations = fileURLToPath(new URL("../../../src/postgres/migrations", import.meta.url));
const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

/** Gives an empty database the tables of the earlier release. */
export async function migrateToEarlier(url: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "postern-migrations-"));
  try {
    const names = (await readdir(migrations)).filter((name) => name < "0006");
    for (const name of names) await copyFile(join(migrations, name), join(folder, name));
    await migrate({ url, folder, log });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Appends a fact of the type `user.phone_code_requested`. */
export async function appendEarlier(sql: Sql, { type, at, payload, secret = null }: NewFact): Promise<void> {
  const row = {
    ...{ n: 0, owner: at.owner, stream: at.stream, version: String(at.version), type, payload, secret },
    ...{ actor: null, request_id: "request", time: at.time.toISOString() },
  };
  await sql.unsafe(appending, [JSON.stringify([row]), "[]"], { prepare: true });
}

const appending = `with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, time timestamptz)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, time
),
"user.phone_code_requested/0" as (update users u set version = f.version, changed = f.time
   from (select * from facts where type = 'user.phone_code_requested') f where u.owner = f.owner and u.user_id = f.stream),
"user.phone_code_requested/1" as (insert into phone_codes (phone_code_id, owner, user_id, phone, mac, sealed, expiration_date)
   select c.code->>'id', i.owner, i.stream, c.code->>'phone', decode(c.code->>'mac', 'hex'),
     decode(c.code->>'sealed', 'hex'), (c.code->>'expirationDate')::timestamptz
   from (select * from input where type = 'user.phone_code_requested') i cross join lateral (select i.secret->'phoneCode' as code) c where c.code is not null
   on conflict (user_id) do update set phone_code_id = excluded.phone_code_id, phone = excluded.phone, mac = excluded.mac,
     sealed = excluded.sealed, attempts = 0, expiration_date = excluded.expiration_date),
"user.phone_code_requested/2" as (insert into phone_sends (phone, n, user_id, time)
   select c.code->>'phone', (c.code->>'nth')::bigint, i.stream, i.time
   from (select * from input where type = 'user.phone_code_requested') i cross join lateral (select i.secret->'phoneCode' as code) c where c.code->>'nth' is not null),
idempotent as (
  insert into idempotency (caller, operation, key, request, answer, created)
  select caller, operation, key, decode(request, 'base64'), decode(answer, 'base64'), created
  from jsonb_to_recordset($2::text::jsonb) as record (
    caller text, operation text, key text, request text, answer text, created timestamptz)
)
select 1`;

/** Puts the checkpoint of the earlier release before the first event, whether it is still there or not. */
export const gatherAnew = (sql: Sql) => sql`
  insert into checkpoints (follower, epoch, xid, position) values ('sms', 0, '0', 0)
  on conflict (follower) do update set epoch = 0, xid = '0', position = 0`;

const naming = ["user.human_created", "user.phone_changed", "user.phone_code_requested"];

/** Makes messages of the events behind the checkpoint; answers how many events those were. */
export async function gatherEarlier(sql: Sql): Promise<number> {
  const [row] = await sql<{ seen: number }[]>`
    with seen as materialized (
      select e.epoch, e.xid, e.position, e.owner, e.stream, e.type, e.payload, e.time from events e
      where (e.epoch, e.xid, e.position) > (select c.epoch, c.xid, c.position from checkpoints c where c.follower = 'sms')
        and is_settled(e.epoch, e.xid)
      order by e.epoch, e.xid, e.position limit ${1000}
    ), gathered as (
      insert into sms_messages (phone_code_id, owner, user_id, created)
      select s.payload->>'phoneCodeId', s.owner, s.stream, s.time from seen s
      where s.type = any(${naming}) and s.payload->>'phoneCodeId' is not null
      on conflict (phone_code_id) do nothing
    ), moved as (
      update checkpoints c set epoch = l.epoch, xid = l.xid, position = l.position
      from (select epoch, xid, position from seen order by epoch desc, xid desc, position desc limit 1) l
      where c.follower = 'sms' and (c.epoch, c.xid, c.position) < (l.epoch, l.xid, l.position)
    )
    select count(*)::int as seen from seen`;
  return row?.seen ?? 0;
}

type TakenEarlier = { id: string; userId: string; phone: string | null; sealed: Uint8Array | null };

const takeEarlier = (sql: Sql) => sql<TakenEarlier[]>`
  with due as materialized (
    select phone_code_id from sms_messages where dead is null and due <= now()
    order by due limit ${16} for update skip locked
  )
  update sms_messages m set attempts = m.attempts + 1, due = now() + make_interval(secs => ${70})
  from due d left join phone_codes c using (phone_code_id) where m.phone_code_id = d.phone_code_id
  returning m.phone_code_id as id, m.user_id as "userId", m.attempts, c.phone, c.sealed, c.expiration_date as expiration`;

const forgetEarlier = (sql: Sql, id: string) => sql`
  with opened as (update phone_codes set sealed = null where phone_code_id = ${id} and sealed is not null)
  delete from sms_messages where phone_code_id = ${id}`;

/** A worker of the earlier release: it gathers, takes and hands over, again and again. */
export function startEarlierWorker(sql: Sql, keys: Keyring, sender: (sms: Sms) => Promise<void>): AsyncDisposable {
  let stopped = false;
  const running = run();
  return {
    async [Symbol.asyncDispose]() {
      stopped = true;
      await running;
    },
  };

  async function run(): Promise<void> {
    while (!stopped) {
      await gatherEarlier(sql);
      await Promise.all((await takeEarlier(sql)).map(deliver));
      await pause(20);
    }
  }

  async function deliver({ id, userId, phone, sealed }: TakenEarlier): Promise<void> {
    if (phone && sealed) await sender({ id, to: phone, text: openPhoneCode(keys, { id, userId, phone, sealed }) });
    await forgetEarlier(sql, id);
  }
}
