import { expect, test } from "vitest";
import type { Deps } from "../../src/deps.ts";
import { connect } from "../../src/postgres/pool/connect.ts";
import { expiredBearers } from "../../src/services/callers/bearer_chores.ts";
import { sessionChores } from "../../src/services/sessions/session_chores.ts";
import { codeChores } from "../../src/services/verification/code_chores.ts";
import { freshDatabase } from "../database.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const settings = { phoneSendWindowSeconds: 3600, mailSendWindowSeconds: 3600 };
async function openDatabase() {
  await using opened = new AsyncDisposableStack();
  const { url } = opened.use(await freshDatabase());
  const { sql } = opened.use(connect(url, { connections: 4, waitMs: 60_000, statementTimeoutMs: 60_000, log }));
  const deps = { sql, clock: () => new Date() } as unknown as Deps;
  await sql`insert into organizations (organization_id, name, version, created, changed) values ('o', 'O', 1, now(), now())`;
  await sql`
    insert into users (owner, user_id, kind, username, version, created, changed)
    values ('o', 'ada', 'human', 'ada', 1, now(), now())`;
  const stack = opened.move();
  return { deps, sql, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test("sessions whose time is over go without an event, and theirs and other bearers that are over as well", async () => {
  await using database = await openDatabase();
  const { sql, deps } = database;
  await sql`
    insert into sessions (owner, session_id, user_id, expiration_date, version, created, changed)
    select 'o', 's' || i, 'ada', now() + make_interval(hours => i), 1, now(), now()
    from generate_series(-250, 3) i where i <> 0`;
  await sql`
    insert into bearers (hash, owner, user_id, session_id, expiration_date)
    select decode(md5(session_id), 'hex'), owner, user_id, session_id, expiration_date from sessions`;
  await sql`
    insert into bearers (hash, owner, user_id, token_id, expiration_date) values
      ('a', 'o', 'ada', 'over', now() - interval '1 hour'), ('b', 'o', 'ada', 'lasting', null)`;

  const [sessions] = sessionChores(deps);
  expect([await sessions?.batch(200), await sessions?.batch(200), await sessions?.batch(200)]).toEqual([200, 50, 0]);
  expect(await sql`select session_id as id from sessions order by id`).toEqual([
    { id: "s1" },
    { id: "s2" },
    { id: "s3" },
  ]);
  expect(await sql`select from events`).toHaveLength(0);

  const bearers = expiredBearers(deps);
  expect([await bearers.batch(200), await bearers.batch(200)]).toEqual([1, 0]);
  const [left] = await sql`select count(session_id)::int as sessions, count(token_id)::int as tokens from bearers`;
  expect(left).toEqual({ sessions: 3, tokens: 1 });
});

test("counted sends are forgotten once they count no more", async () => {
  await using database = await openDatabase();
  const { sql, deps } = database;
  await sql`
    insert into phone_sends (phone, n, user_id, time)
    select '+41791234567', i, 'ada', now() - make_interval(mins => 25 * i) from generate_series(1, 4) i`;
  const [sends] = codeChores(deps, settings);
  expect([await sends?.batch(100), await sends?.batch(100)]).toEqual([2, 0]);
});

test("mails that count no more are forgotten, and so are expired codes", async () => {
  await using database = await openDatabase();
  const { sql, deps } = database;
  await sql`
    insert into mail_sends (email, purpose, n, user_id, time)
    select 'ada@example.com', 'email', i, 'ada', now() - make_interval(mins => 25 * i) from generate_series(1, 4) i`;
  await sql`
    insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mac, expiration_date)
    select 'code' || i, 'org', 'ada', 'password', 'ada@example.com', i::text::bytea, now() + make_interval(mins => 10 * i)
    from generate_series(-1, 1) i`;
  const [, sends, codes] = codeChores(deps, settings);
  expect([await sends?.batch(100), await sends?.batch(100)]).toEqual([2, 0]);
  expect([await codes?.batch(100), await codes?.batch(100)]).toEqual([2, 0]);
});
