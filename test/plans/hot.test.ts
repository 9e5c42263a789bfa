import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ListEventsRequestSchema } from "../../gen/postern/v1/event_pb.ts";
import { CreateOrganizationRequestSchema } from "../../gen/postern/v1/organization_pb.ts";
import { ListUserGrantsRequestSchema } from "../../gen/postern/v1/user_grant_pb.ts";
import {
  CreateMachineUserRequestSchema,
  CreateUsersRequestSchema,
  GetUserRequestSchema,
} from "../../gen/postern/v1/user_pb.ts";
import { readConfig } from "../../src/config/config.ts";
import type { Deps } from "../../src/deps.ts";
import { eventsAfter } from "../../src/events/follow.ts";
import { numberAll, unnumberedSeconds } from "../../src/events/numbering.ts";
import { beginning } from "../../src/events/position.ts";
import { explainedRead } from "../../src/provider/explanations/explained_read.ts";
import { ownerOfCodeRead } from "../../src/provider/mail_pages/page_brand.ts";
import { signOnRead } from "../../src/provider/tokens/grant_read.ts";
import { ownAccountRead } from "../../src/services/account/own_account.ts";
import { projectForNameRead } from "../../src/services/applications/application.ts";
import { eventService } from "../../src/services/audit/event.ts";
import { watch } from "../../src/services/audit/event_watch.ts";
import * as reads from "../../src/services/callers/caller_lookups.ts";
import { applicationsOf } from "../../src/services/consents/consent.ts";
import { denialRead, denialsRead } from "../../src/services/decisions/evaluate.ts";
import { giverRead } from "../../src/services/members/role_giver.ts";
import { endedRolesOf, rolesOf } from "../../src/services/members/user_role_list.ts";
import { organizationService } from "../../src/services/organizations/organization.ts";
import { evenTime } from "../../src/services/passwords/even_time.ts";
import { userGrantService } from "../../src/services/user_grants/user_grant.ts";
import { userService } from "../../src/services/users/user.ts";
import { openClient } from "../fixture/database_client.ts";
import { idOf, seed } from "../fixture/seed.ts";
import { type Postern, startPostern } from "../harness.ts";
import { askedBy, callIn, found, planAsTheService, question } from "./plan.ts";

const [users, projects, grants, others] = [2_000, 20, 20_000, 30_000];
const page = 100;
// Rows that have expired are swept while a busy machine takes its time.
const later = "now() + interval '1 day'";

let postern: Postern;
let client: ReturnType<typeof openClient>["client"];
let close: () => Promise<void>;
beforeAll(async () => {
  postern = await startPostern();
  const opened = openClient(postern.databaseUrl);
  [client, close] = [opened.client, () => opened[Symbol.asyncDispose]()];
  await seed(client, postern.organizationId, { users, projects, grants, changes: 0 });
  await planAsTheService(client);
  // Users of other organizations, and a year of events there, a few minutes apart.
  await client.unsafe(`
    insert into organizations (organization_id, name, version, created, changed)
    select 'organization' || n, 'Organization ' || n, 1, now(), now() from generate_series(0, 299) n;
    insert into users (owner, user_id, kind, username, version, created, changed)
    select 'organization' || n % 300, 'other' || n, 'machine', 'other' || n, 1, now(), now() from generate_series(1, 3000) n;
    insert into events (owner, stream, version, type, payload, actor, request_id, time)
    select 'organization' || n % 30, 'object' || n / 3, n % 3 + 1, 'project.created', '{"name": "Year"}',
      'actor' || n % 50, 'load', now() - (${others} - n) * interval '17 minutes'
    from generate_series(1, ${others}) n;
    insert into events (owner, stream, version, type, payload, actor, request_id, time)
    select 'organization7', 'delegation' || n, 1, 'delegation.begun', '{"userId": "other7"}', 'actor7', 'load',
      now() - n * interval '1 minute' from generate_series(1, 50) n`);
  // Applications with origins, each with a sign-in and its token.
  await client.unsafe(`
    insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed)
    select p.owner, 'app' || n, p.project_id, 'App ' || n, 'client' || n,
      jsonb_build_object('firstParty', true, 'additionalOrigins', jsonb_build_array('https://app' || n || '.example')), 1, now(), now()
    from generate_series(1, 3000) n, (select owner, project_id from projects order by project_id limit 1) p;
    insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date)
    select 'session' || n, 'organization0', 'other' || n, sha256(('cookie' || n)::bytea), now(), '{pwd}', ${later}, ${later}
    from generate_series(1, 3000) n;
    insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, created, expiration_date)
    select 'sign_on' || n, 'session' || n, 'other' || n, 'app' || n, 'organization0', 'openid', true, now(), ${later}
    from generate_series(1, 3000) n;
    insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, created, expiration_date)
    select 'often' || n, 'session7', 'other7', 'app' || n % 3 + 1, 'organization0', 'openid', true, now(), ${later}
    from generate_series(1, 3000) n;
    insert into sign_on_tokens (hash, sign_on_id, scope, created, expiration_date)
    select sha256(('token' || n)::bytea), 'sign_on' || n, 'openid', now(), ${later} from generate_series(1, 3000) n`);
  // A sign-in of somebody who holds one of the thousand grants in their project.
  await client.unsafe(`
    insert into sessions (owner, session_id, user_id, expiration_date, version, created, changed)
    values ('${postern.organizationId}', 'granted', '${idOf("user", 77)}', ${later}, 1, now(), now());
    insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date)
    values ('granted', '${postern.organizationId}', '${idOf("user", 77)}', sha256('granted'), now(), '{pwd}', ${later}, ${later});
    insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, created, expiration_date)
    values ('granted', 'granted', '${idOf("user", 77)}', 'app77', '${postern.organizationId}', 'openid', false, now(), ${later})`);
  // One user with 6,000 grants, of all organizations.
  await client.unsafe(`
    insert into user_grants (owner, user_grant_id, user_id, project_id, version, created, changed)
    select 'organization' || n, 'many' || n || p.project_id, '${withManyGrants}', p.project_id, 1, now(), now()
    from generate_series(0, 299) n cross join (select project_id from projects where project_id in (
      select project_id from project_roles) order by project_id limit 20) p;
    insert into user_grant_roles (owner, user_grant_id, project_id, role_key)
    select g.owner, g.user_grant_id, g.project_id, r.role_key from user_grants g
    join lateral (select role_key from project_roles r where r.project_id = g.project_id order by role_key limit 1) r on true
    where g.user_id = '${withManyGrants}' and g.user_grant_id like 'many%'`);
  await numberAll(client);
  // Autovacuum may come during a test that takes its time, and index-only scans are cheap after it: so it has come for all.
  await client.unsafe("vacuum analyze");
});
afterAll(async () => {
  await close?.();
  await postern?.[Symbol.asyncDispose]();
});

const withManyGrants = idOf("user", 11);

type Parts = Omit<Deps, "log">;
type Case = {
  readonly name: string;
  readonly ask: (parts: Parts) => Promise<unknown>;
  readonly index: string;
  /** The most rows that may be read. */
  readonly most: number;
};

const nothing = () => expect.fail("nothing is written");
const noLog = { append: nothing, appendLong: nothing, appendIf: nothing };
const noTail = { listen: () => () => {}, poke() {}, behindMs: () => 0, async [Symbol.asyncDispose]() {} };
const here = () => callIn(postern.organizationId, postern.adminId);
const there = () => callIn("organization7", postern.adminId);

const longAgo = (days: number) => timestampFromDate(new Date(Date.now() - days * 86_400_000));
type Ids = Partial<Readonly<Record<"objectId" | "actorId" | "onBehalfOfId", string>>>;
type ListEvents = Ids & { instance?: boolean; since?: Timestamp; until?: Timestamp };

/** A list of events; `deep` goes on after so many pages. */
const events = (request: ListEvents, { call = there, deep = 0 } = {}): Case["ask"] => {
  return async ({ sql }) => {
    const { listEvents } = eventService({ sql }, noTail);
    let pageToken = "";
    for (let turned = 0; turned <= deep; turned++) {
      const answer = await listEvents(
        create(ListEventsRequestSchema, { ...request, pageToken, pageSize: page }),
        call(),
      );
      expect(answer.events.length).toBeGreaterThan(0);
      pageToken = answer.nextPageToken ?? "";
    }
  };
};

const grantsOf = (request: { userId?: string; projectId?: string }, deep = 0): Case["ask"] => {
  return async (parts) => {
    const { listUserGrants } = userGrantService({ ...parts, log: noLog });
    let pageToken = "";
    for (let turned = 0; turned <= deep; turned++) {
      const asked = create(ListUserGrantsRequestSchema, { ...request, pageToken, pageSize: deep > 0 ? 5 : page });
      const answer = await listUserGrants(asked, here());
      expect(answer.userGrants.length).toBeGreaterThan(0);
      pageToken = answer.nextPageToken ?? "";
    }
  };
};

const watched = (owner: string, after = beginning): Case["ask"] => {
  return async ({ sql }) => {
    const stop = new AbortController();
    const filter = { owner, objectId: "", actorId: "", aboutUserId: "", projectId: "", onBehalfOfId: "", types: [] };
    const watching = watch({ sql, tail: noTail, filter, signal: stop.signal }, { at: after });
    for await (const one of watching) if (one.owner === owner) break;
  };
};

const hash = Buffer.alloc(32, 7).toString("hex");
const tokenHash = createHash("sha256").update("token77").digest("hex");
const object = { instance: true, objectId: "object400" };

// A grant is read with a role, its project and the organization that owns the project: whether it counts depends on all of them.
const cases: readonly Case[] = [
  { name: "events of an organization", ask: events({}), index: "events_of_organization", most: 310 },
  {
    name: "events of an organization, page after page",
    ask: events({}, { deep: 8 }),
    index: "events_of_organization",
    most: 310,
  },
  {
    ...{ name: "events of an organization, long ago", index: "events_of_organization", most: 310 },
    ask: events({ until: longAgo(300) }),
  },
  {
    ...{ name: "events of an organization, in a period", index: "events_of_organization", most: 310 },
    ask: events({ since: longAgo(200), until: longAgo(150) }),
  },
  { name: "events of the instance", ask: events({ instance: true }), index: "events_by_time", most: 310 },
  {
    name: "events of the instance, page after page",
    ask: events({ instance: true }, { deep: 12 }),
    index: "events_by_time",
    most: 310,
  },
  {
    ...{ name: "events of the instance, long ago", index: "events_by_time", most: 310 },
    ask: events({ instance: true, until: longAgo(340) }),
  },
  { name: "events of an object, wherever it is", ask: events(object), index: "events_of_object", most: 15 },
  {
    name: "events of an object of the organization",
    ask: events({ objectId: "object402" }),
    index: "events_",
    most: 15,
  },
  {
    ...{ name: "events by an actor, wherever", index: "events_of_actor", most: 310 },
    ask: events({ instance: true, actorId: "actor7" }),
  },
  {
    ...{ name: "events by an actor, wherever, long ago", index: "events_of_actor", most: 310 },
    ask: events({ instance: true, actorId: "actor7", until: longAgo(300) }),
  },
  {
    ...{ name: "events by an actor on behalf of a user", index: "events_about_user", most: 160 },
    ask: events({ instance: true, actorId: "actor7", onBehalfOfId: "other7" }),
  },
  {
    ...{ name: "a watch that goes on from the beginning", index: "event_numbers_pkey", most: 10_510 },
    ask: watched("organization7"),
  },
  {
    ...{ name: "the oldest event without a number", index: "events_log", most: 5 },
    ask: ({ sql }) => unnumberedSeconds(sql),
  },
  {
    name: "the next events of the log",
    index: "event_numbers_pkey",
    most: 310,
    ask: ({ sql }) => eventsAfter(sql, 9_000n, 100),
  },
  { name: "grants of a user", ask: grantsOf({ userId: idOf("user", 7) }), index: "user_grants", most: 50 },
  {
    name: "grants of a user, page after page",
    ask: grantsOf({ userId: idOf("user", 7) }, 1),
    index: "user_grants",
    most: 50,
  },
  {
    ...{ name: "roles of a user in projects", index: "user_grants_of_user", most: 60 },
    ask: ({ sql }) => ownAccountRead(sql)({ owner: postern.organizationId, id: idOf("user", 7) }, here().signal),
  },
  {
    ...{ name: "roles of a user in one project", index: "user_grants_once", most: 15 },
    ask: ({ sql }) =>
      ownAccountRead(sql)(
        { owner: postern.organizationId, id: idOf("user", 7), project: idOf("project", 7) },
        here().signal,
      ),
  },
  {
    ...{ name: "roles of a user in more projects than are answered", index: "user_grants_of_user", most: 4_600 },
    async ask({ sql }) {
      const account = await ownAccountRead(sql)({ owner: postern.organizationId, id: withManyGrants }, here().signal);
      expect(account?.roles).toHaveLength(1001);
    },
  },
  ...["members_of_user", "user_grants_of_user"].map((index) => ({
    ...{ name: `a page of the roles of a user, wherever, by ${index}`, index, most: 40 },
    ask: ({ sql }: Parts) => rolesOf(sql, idOf("user", 7), { limit: 11, after: ["a", "b"] }),
  })),
  {
    ...{ name: "a page of the roles of a user that were ended", index: "ended_roles_pkey", most: 5 },
    ask: ({ sql }) => endedRolesOf(sql, idOf("user", 7), { limit: 11, after: undefined }),
  },
  {
    ...{ name: "the applications of somebody who signs in often", index: "sign_ons_of_user", most: 40 },
    async ask({ sql }) {
      expect(await applicationsOf(sql, "other7", { limit: 11, after: undefined, now: new Date() })).toHaveLength(4);
    },
  },
  {
    ...{ name: "the roles that an organization gave a user", index: "members_of_user", most: 15 },
    ask: ({ sql }) => giverRead(sql)({ owner: postern.organizationId, id: idOf("user", 7), giver: "none" }),
  },
  {
    ...{ name: "what a user holds at an application, to explain a sign-in", index: "user_grants_once", most: 60 },
    async ask({ sql }) {
      const of = { owner: postern.organizationId, project: idOf("project", 0), app: "app77", user: idOf("user", 7) };
      const key = { ...of, organization: null, now: new Date().toISOString() };
      expect((await explainedRead(sql)(key, here().signal))?.grants).toHaveLength(1);
    },
  },
  {
    ...{ name: "what tokens say about somebody in a project with many grants", index: "user_grants_once", most: 20 },
    async ask({ sql }) {
      expect((await signOnRead(sql)("granted", new Date()))?.roles).toHaveLength(1);
    },
  },
  {
    ...{ name: "what a user with many grants holds at an application", index: "user_grants_once", most: 2_500 },
    async ask({ sql }) {
      const of = { owner: postern.organizationId, project: idOf("project", 0), app: "app77", user: withManyGrants };
      const key = { ...of, organization: null, now: new Date().toISOString() };
      expect((await explainedRead(sql)(key, here().signal))?.grants).toHaveLength(100);
    },
  },
  {
    ...{ name: "whether a user may act in a role in a project", index: "user_grants_once", most: 15 },
    ask: ({ sql }) => denialRead(sql)(question(7), here()),
  },
  {
    ...{
      name: "whether users may act in roles in projects, a hundred at once",
      index: "user_grants_once",
      most: 1_500,
    },
    async ask({ sql }) {
      const denials = await denialsRead(sql)(
        Array.from({ length: 100 }, (_, n) => question(n + 100)),
        here(),
      );
      expect(denials).toEqual(Array.from(denials, () => undefined));
    },
  },
  {
    name: "grants of a project",
    ask: grantsOf({ projectId: idOf("project", 7) }),
    index: "user_grants_of_project",
    most: 410,
  },
  {
    ...{ name: "grants of a project, page after page", index: "user_grants_of_project", most: 30 },
    ask: grantsOf({ projectId: idOf("project", 7) }, 9),
  },
  {
    ...{ name: "a user", index: "users_", most: 10 },
    ask: (parts) => {
      const { getUser } = userService({ ...parts, log: noLog }, readConfig({}));
      return getUser(create(GetUserRequestSchema, { userId: idOf("user", 1_500) }), here());
    },
  },
  {
    ...{ name: "whether an id that a user brings was used", index: "events_of_object", most: 20 },
    async ask(parts) {
      const { createUsers } = userService({ ...parts, log: noLog }, readConfig({}));
      const value = create(CreateMachineUserRequestSchema, { username: "r", name: "R", userId: "object400" });
      const request = { items: [{ kind: { case: "machine" as const, value } }], allOrNothing: true };
      await expect(createUsers(create(CreateUsersRequestSchema, request), here())).rejects.toThrow("object400");
    },
  },
  {
    ...{ name: "whose a name is that people read as that of an organization", index: "organizations_as_read", most: 5 },
    async ask(parts) {
      const { createOrganization } = organizationService({ ...parts, log: noLog });
      const request = create(CreateOrganizationRequestSchema, { name: "ORGANIZATION \u00a0 7" });
      await expect(createOrganization(request, here())).rejects.toThrow("taken");
    },
  },
  {
    ...{ name: "whose a name is that people read as that of an application", index: "applications_as_read", most: 10 },
    async ask({ sql }) {
      const [{ owner = "", project = "" } = {}] = await client<{ owner: string; project: string }[]>`
        select owner, project_id as project from applications where app_id = 'app77'`;
      const asked = { owner, project, name: "APP  77\u200b", client_id: null };
      expect(await projectForNameRead(sql)(asked, here().signal)).toMatchObject({ takenBy: "app77" });
    },
  },
  {
    ...{ name: "whether any password hash is from elsewhere", index: "passwords_imported", most: 5 },
    ask: ({ sql }) => evenTime(sql)(here().signal, async () => ({ is: "wrong" })),
  },
  {
    ...{ name: "who calls with the token of an application", index: "sign_on_tokens_pkey", most: 10 },
    ask: ({ sql }) => reads.callerRead(sql)(tokenHash),
  },
  { name: "who calls", ask: ({ sql }) => reads.callerRead(sql)(hash), index: "bearers_pkey", most: 10 },
  {
    name: "what the caller may",
    ask: ({ sql }) => reads.membershipsRead(sql)(idOf("user", 9)),
    index: "members_once",
    most: 10,
  },
  {
    name: "whose a user is",
    ask: ({ sql }) => reads.ownerOfUserRead(sql)(idOf("user", 9)),
    index: "users_user_id",
    most: 5,
  },
  {
    name: "whose a session is",
    ask: ({ sql }) => reads.userOfSessionRead(sql)("none"),
    index: "sessions_session_id",
    most: 5,
  },
  {
    ...{ name: "whether an organization is there", index: "organizations_pkey", most: 5 },
    ask: ({ sql }) => reads.organizationExistsRead(sql)("none"),
  },
  {
    ...{ name: "whose the code of a page is", index: "mail_codes_registration", most: 5 },
    ask: ({ sql }) => ownerOfCodeRead(sql)({ macs: [hash], now: new Date().toISOString() }),
  },
  {
    ...{ name: "where a grant belongs", index: "user_grants_user_grant_id", most: 5 },
    ask: ({ sql }) => reads.userGrantPlaceRead(sql)(idOf("grant", 9_999)),
  },
  {
    ...{ name: "whether a write was done before", index: "idempotency_pkey", most: 5 },
    ask: ({ sql }) => reads.doneBeforeRead(sql)({ caller: "a", operation: "b", key: "c" }),
  },
];

test.each(cases)("$name: found by an index, whatever there is beside it", async ({ ask, index, most }) => {
  const statements = await askedBy(postern.databaseUrl, ask);
  const all = [];
  for (const statement of statements) {
    const { whole, indexes, rows } = await found(client, statement);
    expect(whole, statement.text).toEqual([]);
    expect(rows, statement.text).toBeLessThanOrEqual(most);
    all.push(...indexes);
  }
  expect(
    all.some((one) => one.startsWith(index)),
    all.join(),
  ).toBe(true);
});

const few = 50;

test("whether any application has an origin is found by the index of origins, also while there are none", async () => {
  await using small = await startPostern();
  await using sql = openClient(small.databaseUrl);
  await planAsTheService(sql.client);
  for (const one of [client, sql.client]) {
    await one.unsafe("begin");
    await one.unsafe("select is_origin('https://app77.example')");
    const scans = await one.unsafe(`select pg_stat_get_xact_numscans('applications_origins'::regclass) as "ofIndex",
      pg_stat_get_xact_numscans('applications'::regclass) as whole`);
    await one.unsafe("rollback");
    expect([...scans]).toEqual([{ ofIndex: 1n, whole: 0n }]);
  }
});

type Read = () => Promise<unknown>;
const ofLoneCallers: readonly { readonly name: string; readonly readOf: (parts: Parts, owner: string) => Read }[] = [
  {
    name: "an own account",
    readOf({ sql }, owner) {
      const read = ownAccountRead(sql);
      return () => read({ owner, id: idOf("user", 3) }, here().signal);
    },
  },
  {
    name: "a list of a user's grants",
    readOf(parts, owner) {
      const { listUserGrants } = userGrantService({ ...parts, log: noLog });
      const request = create(ListUserGrantsRequestSchema, { userId: idOf("user", 3), pageSize: page });
      return () => listUserGrants(request, callIn(owner, postern.adminId));
    },
  },
];

test.each(ofLoneCallers)(
  "$name reads no index whole, alone or in company, also while tables are small",
  async ({ readOf }) => {
    await using small = await startPostern();
    const { databaseUrl: url, organizationId } = small;
    await using sql = openClient(url);
    await seed(sql.client, organizationId, { users: few, projects: 2, grants: 20, changes: 0 });
    await planAsTheService(sql.client);
    const sent = await askedBy(url, async (parts) => {
      const read = readOf(parts, organizationId);
      await read();
      await Promise.all([read(), read(), read()]);
    });
    const texts = new Set(sent.map(({ text }) => text));
    expect([...texts].filter((text) => text.includes("jsonb_to_recordset"))).toHaveLength(1);
    expect(texts.size).toBe(2);
    for (const { text, parameters } of sent) {
      await sql.client.unsafe(`prepare hot as ${text}`);
      const lines = await sql.client.unsafe<{ "QUERY PLAN": string }[]>(`explain execute hot (${parameters.join()})`);
      await sql.client.unsafe("deallocate hot");
      const plan = lines.map((line) => line["QUERY PLAN"]).join("\n");
      expect(plan).not.toContain("Seq Scan");
      expect(plan).toContain("Index Cond");
      expect(plan.match(/Index (Only )?Scan [^\n]*\n(?! *Index Cond)/), plan).toBeNull();
    }
  },
);
