import { afterAll, beforeAll, expect, test } from "vitest";
import { openClient } from "../../fixture/database_client.ts";
import { type Answer, machine, organization, type Postern, signedUp, startPostern } from "../../harness.ts";

let postern: Postern;
let organizationId: string;
let projectId: string;
let inside: Record<string, string>;
const ids = new Map<string, string>();

type Person = { username: string; givenName: string; familyName: string; email: string; phone?: string };

const people: readonly Person[] = [
  { username: "Ada", givenName: "Ada", familyName: "Byron", email: "ada@Example.com", phone: "+41446681800" },
  { username: "adam", givenName: "Adam", familyName: "Ada-Smith", email: "adam.smith@example.org" },
  { username: "ZOË", givenName: "Zoë", familyName: "Müller", email: "zoe@example.com", phone: "+41446681801" },
  { username: "élise", givenName: "Élise", familyName: "Αθηνά", email: "e_l@example.com" },
];

beforeAll(async () => {
  postern = await startPostern();
  organizationId = await organization(postern);
  inside = { "x-service-orgid": organizationId };
  for (const person of people) ids.set(person.username, (await made("/v1/users/human", person)).userId);
  ids.set("robot", (await made("/v1/users/machine", { username: "robot", name: "Ada's 100% robot" })).userId);
  projectId = (await made("/v1/projects", { name: "Über Shop_1" })).projectId;
  await made("/v1/projects", { name: "shop 2" });
});
afterAll(() => postern?.[Symbol.asyncDispose]());

async function made(path: string, body: unknown, headers = inside) {
  const answer = await postern.admin.post(path, body, headers);
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
}

async function list(path: string, query: Record<string, string> = {}) {
  const answer = await postern.admin.get(`${path}?${new URLSearchParams(query)}`, inside);
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
  return answer.body;
}

async function usersBy(query: Record<string, string>): Promise<string[]> {
  return (await list("/v1/users", query)).users.map(({ username }: { username: string }) => username);
}

function violations({ status, body }: Answer): unknown {
  const rules = body.details?.find((one: { "@type": string }) => one["@type"].endsWith(".BadRequest"));
  return [status, rules?.fieldViolations.map(({ field, reason }: Record<string, string>) => `${field} ${reason}`)];
}

const finds: readonly (readonly [filter: Record<string, string>, found: readonly string[]])[] = [
  [{ loginName: "aDA" }, ["Ada"]],
  [{ loginName: "zoë" }, ["ZOË"]],
  [{ loginNamePrefix: "AD" }, ["Ada", "adam"]],
  [{ loginNamePrefix: "É" }, ["élise"]],
  [{ name: "ada byron" }, ["Ada"]],
  [{ name: "Ada" }, []],
  [{ namePrefix: "ADA" }, ["Ada", "robot", "adam"]],
  [{ namePrefix: "ada's 100%" }, ["robot"]],
  [{ namePrefix: "ada_" }, []],
  [{ namePrefix: "éLISE ΑΘ" }, ["élise"]],
  [{ email: "ADA@EXAMPLE.COM" }, ["Ada"]],
  [{ emailPrefix: "adam.S" }, ["adam"]],
  [{ phone: "+41 44 668 18 00" }, ["Ada"]],
  [{ phonePrefix: "+41 44" }, ["Ada", "ZOË"]],
  [{ kind: "USER_KIND_MACHINE" }, ["robot"]],
  [{ search: "ad" }, ["Ada", "adam", "robot"]],
  [{ search: "ada" }, ["Ada", "adam", "robot"]],
  [{ search: "smi ada" }, ["adam"]],
  [{ search: "ad ada adam" }, ["adam"]],
  [{ search: "zoe" }, ["ZOË"]],
  [{ search: "MULLER" }, ["ZOË"]],
  [{ search: "αθην" }, ["élise"]],
  [{ search: "example.org" }, ["adam"]],
  [{ search: "+41 44 668" }, ["Ada", "ZOË"]],
  [{ search: "ada", kind: "USER_KIND_MACHINE" }, ["robot"]],
  [{ search: "ada", emailPrefix: "ada@" }, ["Ada"]],
  [{ email: "ada@example.com", search: "byr" }, ["Ada"]],
  [{ loginName: "ada", namePrefix: "b" }, []],
];

test.each(finds)("users by %j", async (filter, found) => {
  const query = Object.fromEntries(Object.entries(filter).map(([name, value]) => [`filter.${name}`, value]));
  expect((await usersBy(query)).sort()).toEqual([...found].sort());
  // One by one, and backwards, the same are found, each once.
  for (const order of ["NAME_ORDER_ASCENDING", "NAME_ORDER_DESCENDING"]) {
    const paged: string[] = [];
    let pageToken = "";
    do {
      const page = await list("/v1/users", { ...query, order, pageSize: "1", pageToken });
      paged.push(...page.users.map(({ username }: { username: string }) => username));
      pageToken = page.nextPageToken;
    } while (pageToken);
    const whole = await usersBy({ ...query, order });
    expect(paged).toEqual(whole);
    expect([...whole].sort()).toEqual([...found].sort());
  }
});

test("a search lists users in the order of the words that were found", async () => {
  expect(await usersBy({ "filter.search": "ad" })).toEqual(["Ada", "adam", "robot"]);
  // "e" of e_l comes before "example": each user stands where its first word is, and those of one word by their age.
  expect(await usersBy({ "filter.search": "e" })).toEqual(["élise", "Ada", "adam", "ZOË"]);
});

test("a search finds what has several of its words once, with the first of them in either order", async () => {
  const apart = { "x-service-orgid": await organization(postern) };
  for (const name of ["zinc red zebra", "zero"]) await made("/v1/projects", { name }, apart);
  const foundIn = async (order: string) => {
    const query = new URLSearchParams({ "filter.search": "z", order });
    const { body } = await postern.admin.get(`/v1/projects?${query}`, apart);
    return body.projects.map(({ name }: { name: string }) => name);
  };
  expect(await foundIn("NAME_ORDER_ASCENDING")).toEqual(["zinc red zebra", "zero"]);
  expect(await foundIn("NAME_ORDER_DESCENDING")).toEqual(["zinc red zebra", "zero"]);
});

test("users come by username either way, or by their age", async () => {
  const byName = await usersBy({});
  expect(byName).toHaveLength(5);
  expect(await usersBy({ order: "NAME_ORDER_DESCENDING" })).toEqual([...byName].reverse());
  const made = [...people.map(({ username }) => username), "robot"];
  expect(await usersBy({ order: "NAME_ORDER_OLDEST" })).toEqual(made);
  expect(await usersBy({ order: "NAME_ORDER_NEWEST" })).toEqual([...made].reverse());
  const ofPeople = { order: "NAME_ORDER_NEWEST", "filter.kind": "USER_KIND_HUMAN" };
  expect(await usersBy(ofPeople)).toEqual(made.slice(0, 4).reverse());
});

test("users are found by their state", async () => {
  const state = (name: string) => ({ "filter.state": `USER_STATE_${name}` });
  const userId = (await made("/v1/users/machine", { username: "sleeper", name: "Sleeper" })).userId;
  await made(`/v1/users/${userId}:deactivate`, {});
  const { username, userId: lockedId } = await signedUp(postern, { organizationId });
  await made("/v1/users/human", { ...people[0], username: "awake" });
  await postern.admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 1 } }, inside);
  await postern.as().post("/v1/sessions", { loginName: username, password: "wrong" });
  expect(await usersBy(state("INACTIVE"))).toEqual(["sleeper"]);
  expect(await usersBy(state("LOCKED"))).toEqual([username]);
  expect(await usersBy({ ...state("LOCKED"), "filter.kind": "USER_KIND_MACHINE" })).toEqual([]);
  expect(await usersBy({ ...state("ACTIVE"), "filter.kind": "USER_KIND_MACHINE" })).toEqual(["robot"]);
  expect(await usersBy(state("ACTIVE"))).not.toContain(username);
  for (const id of [userId, lockedId]) await postern.admin.delete(`/v1/users/${id}`);
  expect(await usersBy({ "filter.search": "sleeper" })).toEqual([]);
});

test("what changed is found at once, and what was is not", async () => {
  const userId = ids.get("adam");
  await made(`/v1/users/${userId}/phone`, { phone: "+41446689999", isVerified: true });
  expect(await usersBy({ "filter.search": "41446689999" })).toEqual(["adam"]);
  await made(`/v1/users/${userId}/phone`, { phone: "+41446689998", isVerified: true });
  expect(await usersBy({ "filter.search": "41446689999" })).toEqual([]);
  expect(await usersBy({ "filter.phone": "+41446689998" })).toEqual(["adam"]);
  await postern.admin.delete(`/v1/users/${userId}/phone`);
  expect(await usersBy({ "filter.search": "41446689998" })).toEqual([]);
});

test("nobody finds users of an organization beyond reach", async () => {
  const { client, userId } = await machine(postern);
  await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] });
  expect((await client.get("/v1/users?filter.search=byron")).body.users).toEqual([]);
  expect((await client.get("/v1/users?filter.search=byron", inside)).status).toBe(403);
  expect((await client.get("/v1/users:byLoginName?loginName=ada")).status).toBe(404);
});

test("a user is read by its login name, whatever the case: by administrators, and by itself", async () => {
  const read = await postern.admin.get("/v1/users:byLoginName?loginName=ADA");
  expect(read.body.user).toMatchObject({ id: ids.get("Ada"), username: "Ada" });
  expect((await postern.admin.get("/v1/users:byLoginName?loginName=nobody-here")).status).toBe(404);
  const { username, userId, client } = await signedUp(postern);
  expect((await client.get(`/v1/users:byLoginName?loginName=${username.toUpperCase()}`)).body.user.id).toBe(userId);
  for (const name of ["ada", "nobody-here", userId])
    expect((await client.get(`/v1/users:byLoginName?loginName=${name}`)).status, name).toBe(403);
});

test("a token of another query is refused by name, and so is what no list can do", async () => {
  const query = "/v1/users?filter.search=ad&pageSize=1";
  const { nextPageToken } = (await postern.admin.get(query, inside)).body;
  expect((await postern.admin.get(`${query}&pageToken=${nextPageToken}`, inside)).status).toBe(200);
  for (const other of ["filter.search=ada", "", "filter.search=ad&order=NAME_ORDER_DESCENDING"]) {
    const answer = await postern.admin.get(`/v1/users?${other}&pageToken=${nextPageToken}`, inside);
    expect(violations(answer), other).toEqual([400, ["pageToken PAGE_TOKEN_INVALID"]]);
  }
  const refused: readonly (readonly [query: string, fields: readonly string[]])[] = [
    ["/v1/users?filter.search=--", ["filter.search SEARCH_WORDS"]],
    ["/v1/users?filter.search=a+b+c+d+e+f+g+h+i", ["filter.search SEARCH_WORDS"]],
    [
      "/v1/users?filter.phone=%28%29&filter.phonePrefix=-",
      ["filter.phone PHONE_EMPTY", "filter.phonePrefix PHONE_EMPTY"],
    ],
    ["/v1/users?filter.search=a&order=NAME_ORDER_NEWEST", ["order MUTUALLY_EXCLUSIVE"]],
    ["/v1/projects?filter.name=a&order=NAME_ORDER_OLDEST", ["order MUTUALLY_EXCLUSIVE"]],
    [`/v1/users?filter.name=${"a".repeat(201)}`, ["filter.name STRING_MAX_LEN"]],
    ["/v1/user-grants?roleKey=r", ["projectId PROJECT_ID_NEEDED"]],
    ["/v1/user-grants?state=USER_GRANT_STATE_KING", ["state ENUM_DEFINED_ONLY"]],
    ["/v1/projects?filter.state=7", ["filter.state ENUM_DEFINED_ONLY"]],
    ["/v1/members?filter.role=KING", ["filter.role STRING_IN"]],
  ];
  for (const [path, fields] of refused) {
    const answer = await postern.admin.get(path, inside);
    expect(violations(answer), `${path} ${JSON.stringify(answer.body)}`).toEqual([400, fields]);
  }
});

test("projects, organizations, applications and roles are found by name and by words", async () => {
  const names = async (path: string, query: Record<string, string>) => {
    const [things] = Object.values(await list(path, query)).filter(Array.isArray);
    return things?.map(({ name, key }: { name?: string; key?: string }) => name ?? key);
  };
  expect(await names("/v1/projects", { "filter.search": "shop" })).toEqual(["Über Shop_1", "shop 2"]);
  expect(await names("/v1/projects", { "filter.namePrefix": "ÜBER" })).toEqual(["Über Shop_1"]);
  expect(await names("/v1/projects", { "filter.search": "uber 1" })).toEqual(["Über Shop_1"]);
  expect(await names("/v1/projects", { "filter.name": "SHOP 2" })).toEqual(["shop 2"]);
  const { body } = await postern.admin.get(`/v1/organizations/${organizationId}`);
  expect(await names("/v1/organizations", { "filter.name": body.organization.name.toUpperCase() })).toHaveLength(1);
  const project = `/v1/projects/${projectId}`;
  for (const name of ["Web client", "web api", "Phone"]) await made(`${project}/applications/oidc`, { name });
  expect(await names(`${project}/applications`, { "filter.namePrefix": "WEB" })).toEqual(["web api", "Web client"]);
  expect(await names(`${project}/applications`, { "filter.search": "cl we" })).toEqual(["Web client"]);
  expect(await names(`${project}/applications`, { order: "NAME_ORDER_NEWEST" })).toEqual([
    "Phone",
    "web api",
    "Web client",
  ]);
  for (const key of ["admin", "reader"]) await made(`${project}/roles`, { key, displayName: `Shop ${key}` });
  expect(await names(`${project}/roles`, { "filter.search": "sho" })).toEqual(["admin", "reader"]);
  expect(await names(`${project}/roles`, { "filter.keyPrefix": "AD" })).toEqual(["admin"]);
  expect(await names(`${project}/roles`, { descending: "true" })).toEqual(["reader", "admin"]);
});

const whole = (query: Record<string, string>, path: string) => list(path, query);

/** Reads a list in each state and in none, one by one: the ids of each. */
async function byState(path: string, query: Record<string, string>, read = whole) {
  const [noun, field] = path.endsWith("grants") ? ["USER_GRANT", "state"] : [nounOf(path), "filter.state"];
  const found: string[][] = [];
  for (const state of ["ACTIVE", "INACTIVE", "UNSPECIFIED"]) {
    const ids: string[] = [];
    let pageToken = "";
    do {
      const page = await read({ ...query, [field]: `${noun}_STATE_${state}`, pageSize: "1", pageToken }, path);
      const [things] = Object.values(page).filter(Array.isArray);
      ids.push(...(things ?? []).map(({ id }: { id: string }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken);
    found.push(ids);
  }
  return found;
}

const nounOf = (path: string) => path.split("/").at(-1)?.slice(0, -1).toUpperCase() ?? "";

test("organizations, projects and applications are found by their state, with other filters and in any order", async () => {
  const organizations: string[] = [];
  for (const name of ["one", "two"])
    organizations.push(
      (await made("/v1/organizations", { name: `Seasonal ${organizationId} ${name}` })).organizationId,
    );
  await made(`/v1/organizations/${organizations[0]}:deactivate`, {});
  const projects: string[] = [];
  for (const name of ["one", "two"])
    projects.push((await made("/v1/projects", { name: `Seasonal ${name}` })).projectId);
  await made(`/v1/projects/${projects[0]}:deactivate`, {});
  const project = `/v1/projects/${projects[1]}`;
  const applications: string[] = [];
  for (const name of ["one", "two"])
    applications.push((await made(`${project}/applications/oidc`, { name: `Seasonal ${name}` })).appId);
  await made(`${project}/applications/${applications[0]}:deactivate`, {});
  const lists = [
    ["/v1/organizations", `Seasonal ${organizationId}`, organizations],
    ["/v1/projects", "Seasonal", projects],
    [`${project}/applications`, "Seasonal", applications],
  ] as const;
  for (const [path, text, [inactive, active]] of lists) {
    const either = [[active], [inactive], [inactive, active]];
    expect(await byState(path, { "filter.namePrefix": text }), path).toEqual(either);
    expect(await byState(path, { "filter.search": text }), path).toEqual(either);
    const [of, not, all] = await byState(path, { order: "NAME_ORDER_NEWEST" });
    const [named, notNamed, allNamed] = await byState(path, { order: "NAME_ORDER_DESCENDING" });
    expect([[...(of ?? [])].sort(), not], path).toEqual([[...(named ?? [])].sort(), notNamed]);
    expect([of?.includes(`${active}`), not, all?.length], path).toEqual([true, [inactive], allNamed?.length]);
    expect(all, path).toHaveLength((of?.length ?? 0) + 1);
  }
  for (const path of [`/v1/organizations/${organizations[0]}`, `/v1/projects/${projects[0]}`])
    await made(`${path}:reactivate`, {});
});

test("user grants are found by their state, of a user, in a project, with a role, and within reach", async () => {
  const { projectId: project } = await made("/v1/projects", { name: "Tidal" });
  await made(`/v1/projects/${project}/roles`, { key: "guide" });
  const grants: string[] = [];
  for (const name of ["Ada", "adam"]) {
    const grant = { projectId: project, roleKeys: ["guide"] };
    grants.push((await made(`/v1/users/${ids.get(name)}/grants`, grant)).userGrantId);
  }
  const [inactive, active] = grants;
  await made(`/v1/user-grants/${inactive}:deactivate`, {});
  const path = "/v1/user-grants";
  for (const query of [{ projectId: project }, { projectId: project, roleKey: "guide" }])
    expect(await byState(path, query)).toEqual([[active], [inactive], [active, inactive]]);
  const ofAdaHere = { projectId: project, userId: `${ids.get("Ada")}` };
  expect(await byState(path, ofAdaHere)).toEqual([[], [inactive], [inactive]]);
  const [, ofAda] = await byState(path, { userId: `${ids.get("Ada")}` });
  const [, ofAll] = await byState(path, { order: "AGE_ORDER_OLDEST" });
  expect([ofAda, ofAll]).toEqual([[inactive], [inactive]]);
  const { client, userId } = await machine(postern, { organizationId });
  await made("/v1/members", { userId, roles: ["PROJECT_OWNER"], projectId: project });
  const within = async (query: Record<string, string>) =>
    (await client.get(`${path}?${new URLSearchParams(query)}`)).body;
  expect(await byState(path, {}, within)).toEqual([[active], [inactive], [active, inactive]]);
  await postern.admin.delete(`/v1/projects/${project}`, inside);
});

test("active grants behind thousands of inactive ones are found, also within reach", async () => {
  const owner = await organization(postern);
  const there = { "x-service-orgid": owner };
  const { projectId: project } = await made("/v1/projects", { name: "Deep" }, there);
  const { userId, client } = await machine(postern, { organizationId: owner });
  await made("/v1/members", { userId, roles: ["PROJECT_OWNER"], projectId: project }, there);
  const { userGrantId } = await made(`/v1/users/${userId}/grants`, { projectId: project }, there);
  await using database = openClient(postern.databaseUrl);
  await database.client`
    with made as (
      insert into users (owner, user_id, kind, username, given_name, family_name, version, created, changed)
      select ${owner}, ${owner} || n, 'human', ${owner} || n, 'A', 'B', 1, now(), now() from generate_series(1, 4500) n)
    insert into user_grants (owner, user_grant_id, user_id, project_id, active, version, created, changed)
    select ${owner}, 'z' || ${owner} || n, ${owner} || n, ${project}, false, 1, now(), now() from generate_series(1, 4500) n`;
  for (const reader of [postern.admin, client]) {
    const found: string[] = [];
    let pageToken = "";
    do {
      const query = new URLSearchParams({ state: "USER_GRANT_STATE_ACTIVE", pageToken });
      const { userGrants, nextPageToken } = (await reader.get(`/v1/user-grants?${query}`, there)).body;
      found.push(...userGrants.map(({ id }: { id: string }) => id));
      pageToken = nextPageToken;
    } while (pageToken);
    expect(found).toEqual([userGrantId]);
  }
});

test("an organization finds what it was granted, and only that", async () => {
  const guest = await organization(postern);
  const there = { "x-service-orgid": guest };
  const { projectId: lent } = await made("/v1/projects", { name: "Lent thing" });
  await made("/v1/projects", { name: "Lent no more" });
  for (const key of ["lent-a", "lent-b"]) await made(`/v1/projects/${lent}/roles`, { key });
  const { projectGrantId } = await made(`/v1/projects/${lent}/grants`, {
    grantedOrganizationId: guest,
    roleKeys: ["lent-a"],
  });
  await made("/v1/projects", { name: "Own lent" }, there);
  const got = async (path: string) => (await postern.admin.get(path, there)).body;
  const found = (await got("/v1/projects?includeGranted=true&filter.search=len")).projects;
  expect(found.map(({ name }: { name: string }) => name).sort()).toEqual(["Lent thing", "Own lent"]);
  expect((await got("/v1/projects?filter.search=len")).projects).toHaveLength(1);
  for (const query of ["filter.search=lent", "filter.keyPrefix=lent", ""])
    expect((await got(`/v1/projects/${lent}/roles?${query}`)).roles).toMatchObject([{ key: "lent-a" }]);
  const { client, userId } = await machine(postern, { organizationId: guest });
  const owner = { userId, roles: ["PROJECT_GRANT_OWNER"], projectId: lent, projectGrantId };
  await made("/v1/members", owner, there);
  const seen = (await client.get("/v1/projects?includeGranted=true&filter.search=len")).body.projects;
  expect(seen).toMatchObject([{ name: "Lent thing" }]);
});

test("members, project grants and user grants are found by user, organization and role, either way", async () => {
  const project = `/v1/projects/${projectId}`;
  for (const key of ["one", "two"]) await made(`${project}/roles`, { key });
  const users = [ids.get("Ada"), ids.get("adam"), ids.get("robot")];
  for (const [at, userId] of users.entries()) {
    await made(`/v1/users/${userId}/grants`, { projectId, roleKeys: at === 1 ? ["one"] : ["one", "two"] });
    await made("/v1/members", { userId, roles: at === 1 ? ["ORG_VIEWER"] : ["ORG_OWNER"] });
  }
  const of = async (path: string, query: Record<string, string> = {}): Promise<unknown[]> => {
    const [things] = Object.values(await list(path, query)).filter(Array.isArray);
    return (things ?? []).map(({ userId, grantedOrganizationId }) => userId ?? grantedOrganizationId);
  };
  const newest = [...users].reverse();
  expect(await of("/v1/user-grants", { projectId, roleKey: "one" })).toEqual(newest);
  expect(await of("/v1/user-grants", { projectId, roleKey: "two", order: "AGE_ORDER_OLDEST" })).toEqual([
    users[0],
    users[2],
  ]);
  expect(await of("/v1/user-grants", { projectId, roleKey: "two", userId: `${users[1]}` })).toEqual([]);
  expect(await of("/v1/user-grants", { order: "AGE_ORDER_OLDEST" })).toEqual(users);
  expect(await of("/v1/members", { "filter.role": "ORG_OWNER" })).toEqual([users[2], users[0]]);
  await postern.admin.put(`/v1/members/${users[2]}`, { roles: ["ORG_VIEWER"] }, inside);
  expect(await of("/v1/members", { "filter.role": "ORG_OWNER" })).toEqual([users[0]]);
  expect(await of("/v1/members", { "filter.role": "ORG_VIEWER", order: "AGE_ORDER_OLDEST" })).toEqual(users.slice(1));
  expect(await of("/v1/members", { "filter.role": "ORG_VIEWER", "filter.userId": `${users[0]}` })).toEqual([]);
  expect(await of("/v1/members", { "filter.userId": `${users[0]}` })).toEqual([users[0]]);
  const guests = [await organization(postern), await organization(postern)];
  for (const [at, grantedOrganizationId] of guests.entries())
    await made(`${project}/grants`, { grantedOrganizationId, roleKeys: at === 0 ? ["one"] : ["one", "two"] });
  expect(await of(`${project}/grants`, { "filter.roleKey": "one" })).toEqual([...guests].reverse());
  expect(await of(`${project}/grants`, { "filter.roleKey": "two" })).toEqual([guests[1]]);
  expect(await of(`${project}/grants`, { "filter.grantedOrganizationId": `${guests[0]}` })).toEqual([guests[0]]);
});

test("pages beyond what one may read go on until the filter is met", async () => {
  const owner = await organization(postern);
  const there = { "x-service-orgid": owner };
  for (let at = 0; at < 3; at++) await made("/v1/users/machine", { username: `deep-${owner}-${at}`, name: "M" }, there);
  await using client = openClient(postern.databaseUrl);
  await client.client`
    insert into users (owner, user_id, kind, username, name, version, created, changed)
    select ${owner}, ${owner} || n, 'human', 'a' || ${owner} || n, 'N', 1, now(), now() from generate_series(1, 4500) n`;
  const found: string[] = [];
  let [pageToken, pages] = ["", 0];
  do {
    const query = `filter.kind=USER_KIND_MACHINE&order=NAME_ORDER_NEWEST&pageToken=${pageToken}`;
    const { users, nextPageToken } = (await postern.admin.get(`/v1/users?${query}`, there)).body;
    found.push(...users.map(({ username }: { username: string }) => username));
    pageToken = nextPageToken;
    pages++;
  } while (pageToken);
  expect(found).toHaveLength(3);
  expect(pages).toBeGreaterThan(2);
});
