import type { DescMethod } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import type { Sql } from "../../src/postgres/pool/connect.ts";
import { mostRead } from "../../src/services/reading/page.ts";
import { openClient } from "../fixture/database_client.ts";
import { type Postern, startPostern } from "../harness.ts";
import { counting, openScales, type Scales } from "../weight/blocks.ts";
import { ofOneCandidate } from "../weight/growth.ts";
import { isPaged, lists, requestsOf } from "../weight/lists.ts";
import { filling, largest } from "../weight/skewed.ts";
import { changes, type Place } from "../weight/words.ts";
import { startPostgres } from "./postgres.ts";

const size = { organizations: 2_000, users: 40_000, things: 3_000, events: 120_000 };
const [tries, slack] = [16, 40];
const writing = "insert into events";
// A chore deletes so many at once; the blocks of a lone deletion are 130 of them.
// An event that is not what was asked costs its block and its entry in the index; a row, also its words and what it hangs on.
const stretch = 5_000;
// It has a tenth of all users; its deletion costs each of them what that of the largest would.
const second = "o2";
// Somebody of another organization.
const rare = "guest";
const [atOnce, ofOneUser] = [1_000, 150];

/** Declares the tests of what statements read on much data, on the PostgreSQL whose programs are in `bin`. */
export function weigh(bin: string): void {
  const opened = new AsyncDisposableStack();
  let postern: Postern;
  let client: Sql;
  let scales: Scales;
  let ofLargest: readonly Place[];
  let ofSmallest: readonly Place[];

  beforeAll(async () => {
    const server = opened.use(await startPostgres(bin, counting));
    postern = opened.use(await startPostern({ databaseUrl: server.url }));
    client = opened.use(openClient(server.url)).client;
    await client.unsafe(filling(size));
    scales = opened.use(await openScales(server.url));
    ofLargest = await placesIn(client, `u.owner = '${largest}'`);
    ofSmallest = await placesIn(
      client,
      `u.owner in (select 'o' || n from generate_series(${size.organizations} - ${tries} + 1, ${size.organizations}) n)`,
    );
  }, 600_000);
  afterAll(() => opened.disposeAsync());

  test("rows of every table with words are changed and deleted", async () => {
    const rows = await client.unsafe<{ table: string }[]>(
      "select distinct regexp_replace(tgrelid::regclass::text, '^all_', '') as table from pg_trigger where tgfoid::regproc::text ~ '^write_.*terms$'",
    );
    const written = rows.flatMap(({ table }) => [`${table} delete`, `${table} update`]);
    // An organization is deleted below; its row goes last, by its job.
    expect(new Set([...changes.map(({ writes }) => writes), "organizations delete"])).toEqual(new Set(written));
  });

  test.each(lists)("$name reads in proportion to its page, by whichever filters", async (method) => {
    const answered = new Set<string>();
    for (const { body, filters } of requestsOf(method)) {
      const { text, blocks } = await scales.heaviest(async () => {
        const { status } = await asked(method, body);
        expect([200, 400, 404], JSON.stringify(body)).toContain(status);
        if (status === 200) for (const one of ["", ...filters]) answered.add(one);
      });
      expect(blocks, `${JSON.stringify(body)}: ${text}`).toBeLessThanOrEqual(mostRead * ofOneCandidate);
    }
    expect(
      requestsOf(method)
        .flatMap(({ filters }) => filters)
        .filter((one) => !answered.has(one)),
    ).toEqual([]);
    expect(answered).toContain("");
  });

  const asked = (method: DescMethod, body: object) =>
    postern.admin.post(
      `/${method.parent.typeName}/${method.name}`,
      { ...(isPaged(method) ? { pageSize: 20 } : {}), ...body },
      { "x-service-orgid": largest },
    );

  test("events of an actor are found page after page, though no other event of the organization is", async () => {
    const [event] = (await asked(EventService.method.listEvents, { actorId: "u1", until: "2101-01-01T00:00:00Z" })).body
      .events;
    expect(event).toMatchObject({ actorId: "u1" });
    await client.unsafe(`insert into events (owner, stream, version, type, payload, actor, request_id, time)
      values ('${largest}', 'u1', 1, 'user.unlocked', '{}', '${rare}', 'r', now() - interval '10 years')`);
    let pages = 0;
    for (let [found, pageToken] = [0, ""]; found === 0; pages++) {
      const { body } = await asked(EventService.method.listEvents, { actorId: rare, pageToken });
      found = body.events?.length ?? 0;
      pageToken = body.nextPageToken;
      expect(found > 0 || Boolean(pageToken)).toBe(true);
    }
    expect(pages).toBeGreaterThan(1);
  });

  test.each(["objectId", "actorId", "types"])("a watch by %s reads stretches of the log", async (field) => {
    const [first] = await client.unsafe<{ position: string }[]>(
      "select epoch || '.' || xid || '.' || position as position from events where request_id = 'r1'",
    );
    const { status, body } = await postern.admin.post(
      "/v1/projects",
      { name: `Last ${field}` },
      { "x-service-orgid": largest },
    );
    expect(status).toBe(200);
    const values = { objectId: body.projectId, actorId: postern.adminId, types: "project.created" };
    const query = new URLSearchParams({ after: first?.position ?? "", [field]: values[field as keyof typeof values] });
    const { text, blocks } = await scales.heaviest(async () => {
      const headers = { authorization: `Bearer ${postern.admin.token}`, "x-service-orgid": largest };
      const watch = await fetch(`${postern.url}/v1/events:watch?${query}`, { headers });
      const reader = watch.body?.getReader();
      const decoder = new TextDecoder();
      for (let read = ""; !read.includes(`Last ${field}`); ) read += decoder.decode((await reader?.read())?.value);
      await reader?.cancel();
    }, "events");
    expect(blocks, text).toBeLessThanOrEqual(stretch * ofOneCandidate);
  });

  test.each(changes)(
    "$name reads the words of its row alone, in the smallest organization and in the largest",
    async ({ make }) => {
      const small = await blocksOf(ofSmallest);
      const large = await blocksOf(ofLargest);
      // A deletion goes down more than a hundred indexes, about forty of them a level deeper in the largest organization.
      expect(large.blocks, large.text).toBeLessThanOrEqual(small.blocks + Math.max(slack, small.blocks / 16));

      /** The blocks of the heaviest statement when the connection has its plans: the least of some calls. */
      async function blocksOf(places: readonly Place[]) {
        const found = [];
        for (const [n, place] of places.entries())
          found.push(await scales.heaviest(() => made(place, String(1_000_000 + n)), writing));
        const [least] = found.sort((a, b) => a.blocks - b.blocks);
        return least ?? expect.fail("nothing was called");
      }

      async function made(place: Place, nth: string): Promise<void> {
        const call = (method: string, path: string, body?: unknown) =>
          postern.admin.call(method, path, body, { "x-service-orgid": place.organization });
        const { status, body } = await make(call, place, `${place.organization === largest ? 1 : 2}${nth.slice(1)}`);
        expect([status, body]).toEqual([200, expect.anything()]);
      }
    },
  );

  test("an organization of thousands of users is deleted at the cost of each of them", async () => {
    const { blocks, text } = await scales.heaviest(async () => {
      expect((await postern.admin.delete(`/v1/organizations/${second}`)).status).toBe(200);
      const left = () => client.unsafe(`select from organizations where organization_id = '${second}'`);
      await expect.poll(left, { timeout: 300_000, interval: 1_000 }).toHaveLength(0);
    }, "user.deleted");
    expect(blocks, text).toBeLessThanOrEqual(atOnce * ofOneUser);
  }, 600_000);
}

/** Some users with what is beside them; those who are members as well come last. */
async function placesIn(client: Sql, condition: string): Promise<Place[]> {
  const rows = await client.unsafe<{ organization: string; user: string; member: string }[]>(`
    select distinct on (case when u.owner = '${largest}' then u.user_id else u.owner end)
      u.owner as organization, u.user_id as user, m.user_id as member
    from users u join lateral (
      select user_id from members m where m.owner = u.owner and (u.owner <> '${largest}' or m.user_id = u.user_id) limit 1
    ) m on true
    where ${condition} limit ${tries}`);
  return rows.map(({ organization, ...ids }, n) => {
    const number = organization.slice(1);
    const isLargest = organization === largest;
    const [role, application, plan] = isLargest
      ? [`role${n + 1}`, `b${n + 1}`, `q${n + 1}`]
      : ["role0", `a${number}`, `p${number}`];
    return { organization, ...ids, project: `p${number}`, role, application, plan };
  });
}
