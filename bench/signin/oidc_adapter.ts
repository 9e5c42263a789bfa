import { errors } from "oidc-provider";
import type { JSONValue, Sql } from "postgres";

type Payload = { readonly [name: string]: JSONValue };
type Row = { readonly payload: Payload };

/** The table of all models of the library. */
export const adapterTable = `
  create table if not exists oidc_payloads (
    model text not null, id text not null, payload jsonb not null, grant_id text, user_code text, uid text,
    expires timestamptz, primary key (model, id));
  create index if not exists oidc_payloads_grant_id on oidc_payloads (grant_id) where grant_id is not null;
  create index if not exists oidc_payloads_user_code on oidc_payloads (user_code) where user_code is not null;
  create index if not exists oidc_payloads_uid on oidc_payloads (uid) where uid is not null;`;

/** Makes the adapters of the library, which keep its models in PostgreSQL. A code is consumed once, however often it comes at once. */
export const adaptersOf = (sql: Sql) => (model: string) => ({
  async upsert(id: string, payload: Payload, seconds?: number): Promise<void> {
    const { grantId = null, userCode = null, uid = null } = payload as Record<string, string>;
    const expires = seconds === undefined ? null : new Date(Date.now() + seconds * 1000);
    await sql`
      insert into oidc_payloads (model, id, payload, grant_id, user_code, uid, expires)
      values (${model}, ${id}, ${sql.json(payload)}, ${grantId}, ${userCode}, ${uid}, ${expires})
      on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
        user_code = excluded.user_code, uid = excluded.uid, expires = excluded.expires`;
  },
  find: async (id: string) =>
    payloadOf(
      await sql<Row[]>`select payload from oidc_payloads where model = ${model} and id = ${id} and ${living(sql)}`,
    ),
  findByUid: async (uid: string) =>
    payloadOf(
      await sql<Row[]>`select payload from oidc_payloads where uid = ${uid} and model = ${model} and ${living(sql)}`,
    ),
  findByUserCode: async (code: string) =>
    payloadOf(
      await sql<Row[]>`
        select payload from oidc_payloads where user_code = ${code} and model = ${model} and ${living(sql)}`,
    ),
  async consume(id: string): Promise<void> {
    const done = await sql`
      update oidc_payloads set payload = payload || jsonb_build_object('consumed', floor(extract(epoch from now())))
      where model = ${model} and id = ${id} and not payload ? 'consumed'`;
    if (done.count === 0) throw new errors.InvalidGrant("it was consumed already");
  },
  async destroy(id: string): Promise<void> {
    await sql`delete from oidc_payloads where model = ${model} and id = ${id}`;
  },
  async revokeByGrantId(grantId: string): Promise<void> {
    await sql`delete from oidc_payloads where grant_id = ${grantId}`;
  },
});

const living = (sql: Sql) => sql`(expires is null or expires > now())`;

const payloadOf = ([row]: readonly Row[]): Payload | undefined => row?.payload;
