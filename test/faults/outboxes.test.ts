import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { takeLogouts } from "../../src/notify/logout/outbox.ts";
import { takeMails } from "../../src/notify/mail/outbox.ts";
import { take as takeSms } from "../../src/notify/sms/outbox.ts";
import type { Taken, Turn } from "../../src/notify/turns.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";
import { takeDomains } from "../../src/services/domains/domain_worker.ts";
import { openClient, warningsOnly } from "../fixture/database_client.ts";
import { planAsTheService } from "../plans/plan.ts";
import { counting, openScales, type Scales } from "../weight/blocks.ts";
import { startPostgres } from "./postgres.ts";
import { oldestAndNewest } from "./postgres_versions.ts";

const organizations = 5_000;
// Ten times as many, which no statement reads within the slack.
const [fewer, more] = [5_000, 50_000];
// Ten blocks for each message, as indexes get deeper, and a visit of an organization that has nothing due.
const [slack, ofOneVisit, mostVisits] = [240, 4, 500];
const turn: Turn = { most: 24, leaseSeconds: 60, rooms: new Map(), roomOfOthers: 16, after: "" };

type Take = (sql: Sql, turn: Turn) => Promise<Taken<{ readonly owner: string }>>;
type Outbox = {
  readonly table: string;
  readonly take: Take;
  readonly columns: string;
  readonly values: string;
  /** Another table, and what fills it after the first. */
  readonly beside?: { readonly table: string; readonly fill: string };
};

const outboxes: readonly Outbox[] = [
  {
    ...{ table: "logout_messages", take: takeLogouts },
    ...{
      columns: "message_id, session_id, user_id, app_id, created",
      values: "'m' || n, 's' || n, 'u', 'a' || n, now()",
    },
  },
  {
    ...{ table: "mail_messages", take: takeMails },
    columns: "mail_id, user_id, kind, email, language, expiration_date, created",
    values: "'m' || n, 'u', 'verify_email', 'e', 'en', now() + interval '1 day', now()",
  },
  {
    ...{ table: "sms_messages", take: takeSms },
    ...{ columns: "phone_code_id, user_id, created", values: "'m' || n, 'u', now()" },
  },
  {
    ...{ table: "domain_checks", take: takeDomains, columns: "domain_id", values: "'m' || n" },
    beside: {
      table: "domains",
      fill: `insert into domains (owner, domain_id, name, token, proven, without_dns, version, created, changed)
        select owner, domain_id, domain_id || '.example', 't', true, false, 1, now(), now() from domain_checks on conflict do nothing`,
    },
  },
];

/** What waits, so many messages at a time, and how many organizations have one taken. */
const scenes = {
  "all are due, of all organizations": { owner: `'o' || n % ${organizations}`, due: "- interval '1 hour'", taken: 24 },
  "none is due": { owner: `'o' || n % ${organizations}`, due: "+ interval '1 hour'", taken: 0 },
  "all are due, of one organization": { owner: "'o'", due: "- interval '1 hour'", taken: 1 },
};

describe.each([...oldestAndNewest()])("PostgreSQL %i", (_, bin) => {
  const opened = new AsyncDisposableStack();
  let client: Sql;
  let scales: Scales;
  let service: Sql;

  beforeAll(async () => {
    const server = opened.use(await startPostgres(bin, counting));
    await migrate({ url: server.url, log: warningsOnly });
    ({ client } = opened.use(openClient(server.url)));
    scales = opened.use(await openScales(server.url));
    // Its plans are those that it makes while the tables are empty.
    ({ client: service } = opened.use(openClient(server.url)));
    await planAsTheService(service as never);
    for (const { take } of outboxes) for (let n = 0; n < 6; n++) await take(service, turn);
  }, 600_000);
  afterAll(() => opened.disposeAsync());

  async function empty({ table, beside }: Outbox) {
    await client.unsafe(`truncate ${[table, ...(beside ? [beside.table] : [])].join()}`);
  }

  async function fill(
    { table, columns, values, beside }: Outbox,
    { owner, due, from, to }: Record<string, string | number>,
  ) {
    await client.unsafe(
      `insert into ${table} (${columns}, owner, due)
       select ${values}, ${owner}, now() ${due} - interval '1 second' * random() from generate_series(${from}, ${to}) n`,
    );
    await client.unsafe(`vacuum analyze ${table}`);
    if (beside) await client.unsafe(beside.fill);
    if (beside) await client.unsafe(`vacuum analyze ${beside.table}`);
  }

  /** The blocks of one batch, and whose messages it took. */
  async function batch({ take }: Outbox) {
    const owners = new Set<string>();
    const { blocks, text } = await scales.heaviest(async () => {
      for (const { owner } of (await take(service, turn)).messages) owners.add(owner);
    }, "with recursive");
    return { owners, blocks, text };
  }

  describe.each(outboxes)("$table", (outbox) => {
    test("the next batch costs the same, whatever waits", async () => {
      for (const { taken, ...rows } of Object.values(scenes)) {
        await empty(outbox);
        await fill(outbox, { ...rows, from: 1, to: fewer });
        const small = await batch(outbox);
        await fill(outbox, { ...rows, from: fewer + 1, to: more });
        const large = await batch(outbox);
        expect([small.owners.size, large.owners.size]).toEqual([taken, taken]);
        expect(large.blocks, large.text).toBeLessThanOrEqual(small.blocks + slack);
      }
    });

    // The organization is that of the last scene.
    test("one that is due is found among many that are not, beside one that fills it", async () => {
      await fill(outbox, { owner: "'o' || n", due: "+ interval '1 hour'", from: more + 1, to: more + organizations });
      await fill(outbox, { owner: "'z'", due: "- interval '1 minute'", from: 0, to: 0 });
      let after = "";
      const found: string[] = [];
      for (let looks = 0; looks < organizations / mostVisits + 2 && !found.includes("z"); looks++) {
        const { blocks, text } = await scales.heaviest(async () => {
          const taken = await outbox.take(service, { ...turn, after, rooms: new Map([["o", 0]]) });
          after = taken.after;
          found.push(...taken.messages.map(({ owner }) => owner));
        }, "with recursive");
        expect(blocks, text).toBeLessThanOrEqual(mostVisits * ofOneVisit);
      }
      expect(found).toEqual(["z"]);
    });
  });
});
