import { afterAll, beforeAll, expect, test } from "vitest";
import { rebuild } from "../../../src/events/rebuild.ts";
import { permissions, roles } from "../../../src/guards/permissions.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { oneConnection, unique } from "../../events/log_of.ts";
import { newEraser } from "../../fixture/organization.ts";
import {
  type Answer,
  type Client,
  machine,
  organization,
  type Postern,
  signedUp,
  startPostern,
} from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await startPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

type Entry = { readonly key: string; readonly value?: string | null };

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
type Detail = { readonly fieldViolations?: readonly { readonly field: string }[] };
const wrong = ({ status, body }: Answer) => {
  const fields = (body.details ?? []).flatMap(({ fieldViolations = [] }: Detail) =>
    fieldViolations.map(({ field }) => field),
  );
  return [status, ...new Set(fields)];
};
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const ofUser = (userId: string) => `/v1/users/${userId}/metadata`;
const ofOrganization = (id: string) => `/v1/organizations/${id}/metadata`;
const set = (path: string, entries: readonly Entry[], client: Client = postern.admin) =>
  client.call("PATCH", path, { entries });
const read = async (path: string, client: Client = postern.admin): Promise<Entry[]> =>
  done(await client.get(path)).entries.map(({ key, value }: Entry) => ({ key, value }));

/** A machine of an organization, with metadata. */
async function newUser(
  organizationId: string,
  { metadata = [], ...more }: { metadata?: readonly Entry[]; username?: string } = {},
) {
  const machine = { username: unique("m"), name: "M", ...more };
  const { userId } = done(await postern.admin.post("/v1/users/machine", machine, inside(organizationId)));
  if (metadata.length > 0) done(await set(ofUser(userId), metadata));
  return userId as string;
}

/** A machine with a role in an organization. */
async function withRole(role: string, organizationId: string): Promise<Client> {
  const { userId, client } = await machine(postern, { organizationId });
  done(await postern.admin.post("/v1/members", { userId, roles: [role] }, inside(organizationId)));
  return client;
}

/** The ids that a list answers, page by page. */
async function listed(
  noun: "users" | "organizations",
  filter: object,
  more: { client?: Client; at?: string; size?: number } = {},
) {
  const { client = postern.admin, at = postern.organizationId, size = 1000 } = more;
  const ids: string[] = [];
  for (let pageToken = ""; ; ) {
    const query = new URLSearchParams({ ...flat("filter", filter), pageSize: String(size), pageToken });
    const page = done(await client.get(`/v1/${noun}?${query}`, inside(at)));
    ids.push(...page[noun].map(({ id }: { id: string }) => id));
    pageToken = page.nextPageToken;
    if (pageToken === "") return ids;
  }
}

/** The query parameters of an object. */
const flat = (path: string, value: object): Record<string, string> =>
  Object.assign(
    {},
    ...Object.entries(value).map(([name, inner]) =>
      typeof inner === "object" ? flat(`${path}.${name}`, inner) : { [`${path}.${name}`]: String(inner) },
    ),
  );

const has = (key: string, value: string) => ({ metadata: { key, value } });

test.each([
  ["a user", async () => ofUser(await newUser(postern.organizationId))],
  ["an organization", async () => ofOrganization(await organization(postern))],
])(
  "%s carries texts by key; a call sets and removes several, all or none, and one that changes nothing leaves no event",
  async (_, place) => {
    const path = await place();
    const id = path.split("/")[3];
    const sequence = async () => {
      const query = new URLSearchParams({ objectId: String(id), instance: "true", pageSize: "1" });
      return done(await postern.admin.get(`/v1/events?${query}`)).events[0];
    };
    expect(await read(path)).toEqual([]);
    done(
      await set(path, [
        { key: "plan", value: "gold" },
        { key: "desk", value: "" },
        { key: "Plan", value: "Größe 7\n" },
      ]),
    );
    const three = [
      { key: "Plan", value: "Größe 7\n" },
      { key: "desk", value: "" },
      { key: "plan", value: "gold" },
    ];
    expect(await read(path)).toEqual(three);

    const last = await sequence();
    const { details } = done(
      await set(path, [{ key: "plan", value: "gold" }, { key: "never", value: null }, { key: "there" }]),
    );
    expect(await sequence()).toEqual(last);
    expect(
      wrong(
        await set(path, [
          { key: "plan", value: "silver" },
          { key: "not a key", value: "x" },
        ]),
      ),
    ).toEqual([400, "entries[1].key"]);
    expect(await read(path)).toEqual(three);

    const after = done(
      await set(path, [{ key: "plan", value: null }, { key: "desk" }, { key: "Plan", value: "bronze" }]),
    ).details;
    expect(Number(after.sequence)).toBe(Number(details.sequence) + 1);
    expect(await read(path)).toEqual([{ key: "Plan", value: "bronze" }]);
    const { fact } = await sequence();
    expect(JSON.stringify(fact)).toContain('{"key":"plan","shared":false},{"key":"desk","shared":false}');
    const shared = [{ key: "Plan", value: "bronze", shared: true }];
    done(await postern.admin.call("PATCH", path, { entries: shared }));
    expect(done(await postern.admin.get(path)).entries).toEqual(shared);
  },
);

test("the bounds hold: of keys, values, entries, and all together, also for calls at once", async () => {
  const path = ofUser(await newUser(postern.organizationId));
  const many = (count: number, value = "x") => Array.from({ length: count }, (_, n) => ({ key: `key${n}`, value }));
  for (const key of ["", "a b", "ü", "a\u0000b", "\u0430", "a".repeat(101), "a\n", "$", "a'--"])
    expect([key, wrong(await set(path, [{ key, value: "x" }]))]).toEqual([key, [400, "entries[0].key"]]);
  for (const value of ["x".repeat(501), "🚢".repeat(501), "a\u0000b"])
    expect(wrong(await set(path, [{ key: "a", value }]))).toEqual([400, "entries[0].value"]);
  expect(wrong(await set(path, [{ key: "a", value: "1" }, { key: "b" }, { key: "a" }]))).toEqual([
    400,
    "entries[2].key",
  ]);
  expect(wrong(await set(path, []))).toEqual([400, "entries"]);
  expect(wrong(await set(path, many(51)))).toEqual([400, "entries"]);
  for (const entries of [many(10_000), many(1, "x".repeat(1_000_000))])
    expect(refused(await set(path, entries))).toEqual([413, "BODY_TOO_LARGE"]);
  expect(await read(path)).toEqual([]);

  // Objects of JavaScript have properties of these names.
  const odd = ["__proto__", "constructor", "toString", "hasOwnProperty"].map((key) => ({ key, value: "own" }));
  done(await set(path, odd));
  expect(await read(path)).toEqual([...odd].sort((one, other) => (one.key < other.key ? -1 : 1)));
  expect(await read(ofUser(await newUser(postern.organizationId)))).toEqual([]);
  done(
    await set(
      path,
      odd.map(({ key }) => ({ key })),
    ),
  );

  done(await set(path, many(50, "🚢".repeat(60))));
  expect(refused(await set(path, [{ key: "more", value: "x" }]))).toEqual([400, "METADATA_LIMIT"]);
  done(await set(path, [{ key: "more", value: "x" }, { key: "key0" }]));
  expect(refused(await set(path, many(20, "🚢".repeat(400))))).toEqual([400, "METADATA_LIMIT"]);
  done(
    await set(
      path,
      many(6).map(({ key }) => ({ key })),
    ),
  );
  const before = (await read(path)).length;
  const atOnce = Array.from({ length: 12 }, (_, n) => set(path, [{ key: `at.once${n}`, value: "x" }]));
  const made = (await Promise.all(atOnce)).filter(({ status }) => status === 200).length;
  const now = (await read(path)).length;
  expect([now - before, now <= 50, made > 0]).toEqual([made, true, true]);

  const overtaken = await postern.admin.call("PATCH", path, {
    entries: [{ key: "a", value: "x" }],
    expectedSequence: "1",
  });
  expect(refused(overtaken)).toEqual([409, "CONFLICT"]);
});

test("users read their own metadata and do not write it, nor do organizations; other tenants reach none", async () => {
  const [a, b] = [await organization(postern), await organization(postern)];
  const { userId, client } = await signedUp(postern, { organizationId: a });
  const [owner, manager, foreigner] = [
    await withRole("ORG_OWNER", a),
    await withRole("ORG_USER_MANAGER", a),
    await withRole("ORG_OWNER", b),
  ];
  done(await set(ofUser(userId), [{ key: "plan", value: "gold" }], manager));
  done(await set(ofUser(userId), [{ key: "desk", value: "7" }], owner));
  expect(await read(ofUser("me"), client)).toEqual([
    { key: "desk", value: "7" },
    { key: "plan", value: "gold" },
  ]);
  expect(refused(await set(ofUser("me"), [{ key: "plan", value: "platinum" }], client))).toEqual([
    403,
    "PERMISSION_DENIED",
  ]);
  for (const answer of [
    await foreigner.get(ofUser(userId)),
    await set(ofUser(userId), [{ key: "a", value: "b" }], foreigner),
  ])
    expect(refused(answer)).toEqual([404, "USER_NOT_FOUND"]);

  done(await set(ofOrganization(a), [{ key: "plan", value: "gold" }]));
  for (const one of [owner, foreigner])
    expect(refused(await set(ofOrganization(a), [{ key: "plan", value: "platinum" }], one))).toEqual([
      403,
      "PERMISSION_DENIED",
    ]);
  expect(await read(ofOrganization(a), owner)).toEqual([{ key: "plan", value: "gold" }]);
  expect(refused(await foreigner.get(ofOrganization(a)))).toEqual([404, "ORGANIZATION_NOT_FOUND"]);
  expect((await client.get(ofOrganization(a))).status).toBe(403);
  expect(refused(await set(ofOrganization("none"), [{ key: "plan", value: "x" }]))).toEqual([
    404,
    "ORGANIZATION_NOT_FOUND",
  ]);
});

test("whoever may list users or organizations may also read their metadata, and filter by it unless a token is limited to the list", async () => {
  const { userId } = await machine(postern);
  await postern.admin.post("/v1/members", { userId, roles: ["INSTANCE_VIEWER"], instance: true });
  for (const [list, only] of Object.entries({ users: "user.read", organizations: "org.read" })) {
    const { token } = (await postern.admin.post(`/v1/users/${userId}/tokens`, { permissions: [only] })).body;
    const limited = postern.as(token);
    expect((await limited.get(`/v1/${list}`)).status).toBe(200);
    const filter = `/v1/${list}?filter.metadata.key=plan&filter.metadata.value=gold`;
    for (const query of list === "users" ? [filter, "/v1/users?includeMetadata=true"] : [filter]) {
      expect(refused(await limited.get(query))).toEqual([403, "PERMISSION_DENIED"]);
      expect((await postern.admin.get(query)).status).toBe(200);
    }
  }
  for (const noun of ["user", "org"] as const) {
    expect(permissions).toContain(`${noun}.metadata.read`);
    for (const [role, held] of Object.entries(roles))
      expect([role, held.has(`${noun}.metadata.read`)]).toEqual([role, held.has(`${noun}.read`)]);
  }
});

test("a list of users has their metadata on request, a hundred users a page", async () => {
  const a = await organization(postern);
  const entries = [
    { key: "desk", value: "9" },
    { key: "plan", value: "gold", shared: true },
  ];
  const userId = await newUser(a, { metadata: entries, username: "zoe" });
  const others = Array.from({ length: 100 }, (_, n) => ({ machine: { username: unique(`m${n}`), name: "Machine" } }));
  done(await postern.admin.post("/v1/users:batchCreate", { items: others }, inside(a)));
  const query = "/v1/users?pageSize=1000&order=NAME_ORDER_OLDEST";
  expect(done(await postern.admin.get(query, inside(a)))).toMatchObject({ users: { length: 101 }, metadata: [] });
  const first = done(await postern.admin.get(`${query}&includeMetadata=true`, inside(a)));
  expect(first.users).toHaveLength(100);
  expect(first.metadata).toEqual([{ userId, entries: [{ ...entries[0], shared: false }, entries[1]] }]);
  const next = `${query}&includeMetadata=true&pageToken=${encodeURIComponent(first.nextPageToken)}`;
  expect(done(await postern.admin.get(next, inside(a)))).toMatchObject({ users: { length: 1 }, metadata: [] });
});

test("users are found by key and value, in pages of any size, together with other filters, and nobody of another organization", async () => {
  const [a, b] = [await organization(postern), await organization(postern)];
  const metadata = [
    { key: "plan", value: "gold" },
    { key: "__proto__", value: "x" },
  ];
  const names = [unique("first"), unique("second"), unique("third"), unique("fourth"), unique("fifth")];
  const ids: string[] = [];
  for (const username of names) ids.push(await newUser(a, { username, metadata }));
  const [one = "", two = "", three = "", four = "", five = ""] = ids;
  await newUser(a, {
    metadata: [
      { key: "plan", value: "Gold" },
      { key: "desk", value: "gold" },
    ],
  });
  await newUser(b, { metadata });
  const find = (filter: object, more: object = {}) => listed("users", filter, { at: a, ...more });
  for (const size of [1, 2, 1000]) expect(await find(has("plan", "gold"), { size })).toEqual(ids);
  expect(await find(has("__proto__", "x"))).toEqual(ids);
  for (const [key, value] of [
    ["Plan", "gold"],
    ["plan", "gol"],
    ["plan", ""],
    ["constructor", "x"],
  ] as const)
    expect(await find(has(key, value))).toEqual([]);
  const newest = done(
    await postern.admin.get(
      `/v1/users?order=NAME_ORDER_NEWEST&filter.metadata.key=plan&filter.metadata.value=gold`,
      inside(a),
    ),
  );
  expect(newest.users.map(({ id }: { id: string }) => id)).toEqual([...ids].reverse());

  done(await postern.admin.post(`/v1/users/${two}:deactivate`));
  expect(await find({ ...has("plan", "gold"), state: "USER_STATE_INACTIVE" })).toEqual([two]);
  expect(await find({ ...has("plan", "gold"), search: "third" })).toEqual([three]);
  expect(await find({ ...has("plan", "gold"), loginName: names[3] })).toEqual([four]);
  expect(await find({ ...has("plan", "silver"), loginName: names[3] })).toEqual([]);
  expect(await find({ ...has("plan", "gold"), kind: "USER_KIND_HUMAN" })).toEqual([]);

  // Users who wait for their erasure are hidden, and so are their metadata.
  const owner = await newEraser(postern, a);
  for (const id of [one, five]) done(await owner.post(`/v1/users/${id}:erase`));
  for (const size of [1, 2, 1000]) expect(await find(has("plan", "gold"), { size })).toEqual([two, three, four]);
  expect(refused(await owner.get(ofUser(one)))).toEqual([404, "USER_NOT_FOUND"]);
  expect(refused(await set(ofUser(one), [{ key: "plan", value: "x" }], owner))).toEqual([404, "USER_NOT_FOUND"]);
  done(await owner.post(`/v1/users/${one}:restore`));
  expect(await find(has("plan", "gold"))).toEqual([one, two, three, four]);
  expect(await find(has("plan", "gold"), { client: owner })).toEqual([one, two, three, four]);
  const foreigner = await withRole("ORG_OWNER", b);
  const query = `filter.metadata.key=plan&filter.metadata.value=gold`;
  expect((await foreigner.get(`/v1/users?${query}`, inside(a))).status).toBe(403);
  expect(wrong(await postern.admin.get(`/v1/users?filter.metadata.value=gold`))).toEqual([400, "filter.metadata.key"]);
});

test("a list goes on after those who are hidden, however many they are", async () => {
  const [a, value] = [await organization(postern), unique("value")];
  const userId = await newUser(a, { metadata: [{ key: "plan", value }] });
  await using client = oneConnection(postern.databaseUrl);
  await client.sql`
    insert into all_users (owner, user_id, kind, username, deleted, erasure_date, version, created, changed)
    select ${a}, '00' || n, 'machine', '00' || n, true, now() + interval '1 year', 1, now(), now() from generate_series(1, 2001) n`;
  await client.sql`
    insert into user_metadata (owner, user_id, key, value)
    select owner, user_id, 'plan', ${value} from all_users where owner = ${a} and deleted`;
  try {
    expect(await listed("users", has("plan", value), { at: a })).toEqual([userId]);
  } finally {
    await client.sql`delete from user_metadata where owner = ${a} and user_id <> ${userId}`;
    await client.sql`delete from all_users where owner = ${a} and deleted`;
    await client.sql`delete from terms where scope = ${a} and object_id <> ${userId}`;
  }
});

test("organizations are found by key and value, by each caller only those within reach", async () => {
  const value = unique("value");
  const all = [await organization(postern), await organization(postern), await organization(postern)];
  const [a = "", b = "", c = ""] = all;
  for (const id of all) done(await set(ofOrganization(id), [{ key: "crm", value }]));
  const { userId, client } = await machine(postern, { organizationId: a });
  for (const id of [a, c]) done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }, inside(id)));
  for (const size of [1, 1000]) {
    expect(await listed("organizations", has("crm", value), { size })).toEqual(all);
    expect(await listed("organizations", has("crm", value), { size, client, at: a })).toEqual([a, c]);
  }
  const elsewhere = await withRole("ORG_OWNER", b);
  expect(await listed("organizations", has("crm", value), { client: elsewhere, at: b })).toEqual([b]);
  done(await postern.admin.delete(`/v1/organizations/${c}`));
  expect(await listed("organizations", has("crm", value))).toEqual([a, b]);
});

test("metadata ends with its user, and with an erasure nothing of it is left in events either", async () => {
  const a = await organization(postern);
  const [secret, other] = [unique("note"), unique("note")];
  const userId = await newUser(a, {
    metadata: [
      { key: "note", value: secret },
      { key: secret, value: "" },
    ],
  });
  done(await set(ofUser(userId), [{ key: "note", value: other }]));
  const deleted = await newUser(a, { metadata: [{ key: "note", value: secret }] });
  const owner = await newEraser(postern, a);
  done(await postern.admin.put("/v1/policies/privacy", { policy: { restoreDays: 0 } }, inside(a)));
  const { jobId } = done(await owner.post(`/v1/users/${userId}:erase`));
  if (jobId) done(await owner.get(`/v1/jobs/${jobId}:wait`));
  done(await owner.delete(`/v1/users/${deleted}`));
  await using client = oneConnection(postern.databaseUrl);
  expect(await client.sql`select from user_metadata where owner = ${a}`).toHaveLength(0);
  const events = await client.sql<{ text: string }[]>`select e::text as text from events e where e.stream = ${userId}`;
  expect(events.length).toBeGreaterThan(2);
  for (const { text } of events) for (const one of [secret, other]) expect(text).not.toContain(one);

  done(await set(ofOrganization(a), [{ key: "plan", value: "gold" }]));
  const job = done(await postern.admin.delete(`/v1/organizations/${a}`)).jobId;
  if (job) done(await postern.admin.get(`/v1/jobs/${job}:wait?instance=true`));
  expect(await client.sql`select from organization_metadata where organization_id = ${a}`).toHaveLength(0);
  expect(await rebuild(client.sql, folds)).toEqual({ equal: true, differences: [] });
});
