import { expect, test } from "vitest";
import { newId } from "../../src/deps.ts";
import { mostCounted } from "../../src/notify/health.ts";
import { logoutHealth } from "../../src/notify/logout/outbox.ts";
import { mailHealth } from "../../src/notify/mail/outbox.ts";
import { smsHealth } from "../../src/notify/sms/outbox.ts";
import { subscriptionHealth } from "../../src/notify/subscriptions/outbox.ts";
import { openTestLog } from "../events/log_of.ts";

const kinds = [
  [
    "mail_messages",
    mailHealth,
    "mail_id, owner, user_id, kind, email, language, expiration_date",
    "'m' || n, 'o', 'u', 'k', 'e', 'en', now()",
  ],
  ["sms_messages", smsHealth, "phone_code_id, owner, user_id", "'m' || n, 'o', 'u'"],
  [
    "logout_messages",
    logoutHealth,
    "message_id, owner, session_id, user_id, app_id",
    "'m' || n, 'o', 's' || n, 'u', 'a'",
  ],
] as const;

const [waiting, dead] = [12_000, 15_000];

test("the health of an outbox is read by its indexes, however many messages there are", async () => {
  await using opened = await openTestLog();
  const { sql, statements } = opened;
  for (const [table, health, columns, values] of kinds) {
    expect(await health(sql)).toEqual({ waiting: 0, oldestSeconds: 0, dead: 0 });
    await sql.unsafe(`insert into ${table} (${columns}, created, due, dead)
      select ${values}, now() - interval '1 hour', now(), case when n > ${waiting} then now() end from generate_series(1, ${waiting + dead}) n`);
    await sql.unsafe(`analyze ${table}`);
    statements.length = 0;
    const { oldestSeconds, ...counts } = await health(sql);
    expect([table, counts]).toEqual([table, { waiting: mostCounted, dead: mostCounted }]);
    expect(oldestSeconds).toBeGreaterThanOrEqual(3_600);
    const rows = await sql.unsafe<{ "QUERY PLAN": string }[]>(`explain ${statements[0]}`);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).not.toMatch(/Seq Scan|Sort/);
  }
});

test("subscriptions count while they have events to deliver, and the one that has failed for longest is told", async () => {
  await using opened = await openTestLog();
  const { sql } = opened;
  expect(await subscriptionHealth(sql)).toEqual({ waiting: 0, oldestSeconds: 0, dead: 0 });
  const add = (due: string, failing: string, isDead = false) =>
    sql.unsafe(
      `insert into subscription_deliveries (subscription_id, owner, number, batch, due, failing_since, dead)
       values ($1, 'o', 0, '', ${due}, ${failing}, ${isDead ? "now()" : "null"})`,
      [newId()],
    );
  await add("'infinity'", "null");
  await add("now()", "null");
  await add("now()", "now() - interval '1 hour'");
  await add("now()", "now() - interval '2 hours'", true);
  const { oldestSeconds, ...counts } = await subscriptionHealth(sql);
  expect(counts).toEqual({ waiting: 2, dead: 1 });
  expect(Math.round(oldestSeconds / 3_600)).toBe(1);
});
