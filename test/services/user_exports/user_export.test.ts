import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newToken } from "../../../src/security/token.ts";
import { openClient } from "../../fixture/database_client.ts";
import { everyRow, personWithTraces, type Row, refusingProvider, word } from "../../fixture/person.ts";
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
let provider: Awaited<ReturnType<typeof refusingProvider>>;
beforeAll(async () => {
  provider = await refusingProvider();
  postern = await startPostern({
    ...{ trustedProxies: ["127.0.0.1"], adminToken: newToken("pt") },
    ...provider.settings,
  });
});
afterAll(async () => {
  await postern?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
});

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];

/** The whole document: the records of all pages. */
async function exported(client: Client, userId: string, pageSize = 1000): Promise<JsonObject[]> {
  const records: JsonObject[] = [];
  for (let pageToken = ""; ; ) {
    const page = done(await client.get(`/v1/users/${userId}:export?pageSize=${pageSize}&pageToken=${pageToken}`));
    expect(page.records.length).toBeLessThanOrEqual(pageSize);
    records.push(...page.records);
    pageToken = page.nextPageToken;
    if (pageToken === "") return records;
  }
}

const kindsIn = (records: readonly JsonObject[]) => [...new Set(records.flatMap((record) => Object.keys(record)))];

/** An owner of an organization. */
async function ownerOf(organizationId: string): Promise<Client> {
  const { userId, client } = await machine(postern, { organizationId });
  const at = { "x-service-orgid": organizationId };
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, at));
  return client;
}

/** What an export leaves out of the rows of a table, by column, and why. */
type Decision = Readonly<Record<string, string>>;

const secret = "a secret, or a hash of one";
const again = "what the export says elsewhere";
const giver = "the id of an administrator";
const counter = "a count that ends by itself; the events say what was counted";
const brief = "what lasts minutes, and gives access if it is known";
const ofMachine = "which APIs a machine calls, which is no person";
const unanswered = "it says nothing about the user";
const unproven = "whose address it is, nobody knows before the invitation is accepted, and then it is deleted";

/** Every table that has anything of a person. Binary columns are hashes, and sealed. */
const decisions: Readonly<Record<string, Decision>> = {
  access_tokens: {},
  acting_machines: { expiration_date: counter },
  all_users: { email_setter: giver, words: again },
  attempt_places: { key: counter },
  bearers: {},
  browser_sessions: {},
  consents: {},
  ended_roles: {},
  events: { origin: "where others called from is about them; the origins of the user's own calls are checked below" },
  exchanged_tokens: {},
  factor_attempts: { user_id: counter },
  factor_enrolments: { user_id: brief, kind: brief, factor_id: brief },
  factor_secrets: {},
  factors: {},
  idempotency: { operation: again, key: secret },
  invitation_addresses: { email: unproven },
  jobs: { job_id: unanswered, type: again, payload: again, origin: again },
  known_browsers: {},
  login_names: {},
  logout_messages: { message_id: unanswered, failure: "what an application answered" },
  machine_client_ids: {},
  machine_credentials: { creator_id: giver },
  machine_delegations: { served: ofMachine, targets: ofMachine },
  machine_tokens: {},
  mail_codes: { creator_id: giver },
  mail_messages: { failure: "what the provider answered" },
  mail_sends: {},
  members: {},
  organization_login_names: {},
  passkeys: { transports: "how a browser reaches it" },
  password_attempts: { user_id: counter },
  password_change_attempts: { user_id: counter },
  password_history: { hash: secret },
  password_reset_requests: {
    ...{ request_id: brief, login_name: brief, email: brief, name_or_email: brief, call_id: brief, origin: brief },
  },
  passwords: { hash: secret },
  pending_sessions: { user_id: brief, since: brief, hashes: secret },
  phone_codes: { creator_id: giver },
  phone_sends: {},
  recovery_codes: {},
  registration_addresses: { email: unproven },
  roles_given: { kept_creators: giver },
  sessions: {},
  sign_in_failures: { subject: counter },
  sign_ons: { nonce: secret },
  sms_messages: { failure: "what the provider answered" },
  terms: { term: again },
  user_grants: {},
  user_metadata: {},
};

/** Columns that say of whom a row is, or have what is personal, whatever table they are in. */
const personal = ["user_id", "about_user_id", "actor", "caller", "login_name", "email", "phone", "address", "origin"];

type Column = Readonly<Record<"table" | "column" | "type", string>>;

/** The texts in a value of JSON. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** What no export may have: hashes, macs, and everything sealed, in the forms in which they could be written. */
function secretsIn(rows: readonly Row[]): string[] {
  const named = /^(hash|mac|sealed|cookie|public_key|user_handle|challenge)$/;
  const found = rows.flatMap(({ json }) => Object.entries(json).filter(([name]) => named.test(name)));
  const texts = found.flatMap(([, value]) => (typeof value === "string" ? [value.replace(/^\\x/, "")] : []));
  expect(texts.length).toBeGreaterThan(8);
  return texts.flatMap((text) => [text, Buffer.from(text, "hex").toString("base64")]).filter((text) => text !== "");
}

test("what every table has of a person is in the export, or is left out for a reason", async () => {
  const organizationId = await organization(postern);
  const person = await personWithTraces(postern, organizationId);
  const { userId, own, words } = person;
  const giver = { "x-service-orgid": await organization(postern) };
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_VIEWER"] }, giver));
  done(await own.post("/v1/users/me/roles:end", { organizationId: giver["x-service-orgid"] }));
  const { projectId } = done(await postern.admin.post("/v1/projects", { name: word() }, person.at));
  done(await postern.admin.post(`/v1/projects/${projectId}/roles`, { key: "reader" }, person.at));
  done(await postern.admin.post(`/v1/users/${userId}/grants`, { projectId, roleKeys: ["reader"] }, person.at));
  const document = JSON.stringify(await exported(own, "me")).toLowerCase();
  await using database = openClient(postern.databaseUrl);
  const columns = await database.client<Column[]>`
    select table_name as table, column_name as column, data_type as type from information_schema.columns
    where table_schema = 'public' and table_name not in (select viewname from pg_views)`;
  const ofPeople = columns.filter(({ table, column }) => personal.includes(column) && !(table in decisions));

  const rows = (await everyRow(postern.databaseUrl)).filter(({ row }) =>
    [userId, ...Object.values(words)].some((one) => row.toLowerCase().includes(one.toLowerCase())),
  );
  const undecided = [...ofPeople, ...rows].map(({ table }) => table).filter((table) => !(table in decisions));
  const missing = rows.flatMap(({ table, json }) =>
    columns
      .filter(
        (one) =>
          one.table === table && /^(text|jsonb|ARRAY)$/.test(one.type) && !(one.column in (decisions[table] ?? {})),
      )
      .flatMap(({ column }) => textsIn(json[column]).map((text) => ({ column, text })))
      .filter(({ text }) => !document.includes(JSON.stringify(text).slice(1, -1).toLowerCase()))
      .map(({ column, text }) => `${table}.${column}: ${text}`),
  );
  expect([...new Set([...undecided, ...missing])].sort()).toEqual([]);
  for (const one of Object.values(words)) expect([one, document.includes(one)]).toEqual([one, true]);
  for (const one of [...Object.values(person.secrets), ...secretsIn(rows)])
    expect(document).not.toContain(one.toLowerCase());
});

test("an export comes in pages of any size, and has nothing about anybody else", async () => {
  const organizationId = await organization(postern);
  const { userId, own, words } = await personWithTraces(postern, organizationId);
  const owner = await ownerOf(organizationId);
  const at = { "x-service-orgid": organizationId };
  const [other, from] = [word(), { "x-forwarded-for": "198.51.100.23", "user-agent": word() }];
  done(await postern.admin.call("PATCH", `/v1/users/${userId}/human`, { givenName: words.family }, from));
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, at));
  const { userId: made } = done(await own.post("/v1/users/machine", { username: other, name: other }));

  const whole = await exported(owner, userId);
  for (const size of [1, 7]) expect(await exported(owner, userId, size)).toEqual(whole);
  const mine = await exported(own, "me");
  expect(kindsIn(mine)).toEqual(kindsIn(whole));
  const text = JSON.stringify(whole);
  for (const one of [other, ...Object.values(from)]) expect([one, text.includes(one)]).toEqual([one, false]);
  const acts = whole.flatMap(({ act }) => (act ? [act as JsonObject] : []));
  expect(acts).toMatchObject([
    { type: "user.machine_created", objectId: made, aboutUserId: made, origin: { sessionId: expect.anything() } },
  ]);
  expect(acts[0]).not.toHaveProperty("fact");
  const events = whole.flatMap(({ event }) => (event ? [event as JsonObject] : []));
  const listed = done(await postern.admin.get(`/v1/events?instance=true&aboutUserId=${userId}&pageSize=1000`)).events;
  expect(events.map(({ position }) => position)).toEqual(listed.map(({ position }: JsonObject) => position).reverse());
});

test("owners export the users of their organization, and everybody themselves; also users who are waiting for erasure, or deleted", async () => {
  const organizationId = await organization(postern);
  const at = { "x-service-orgid": organizationId };
  const [owner, stranger] = [await ownerOf(organizationId), await ownerOf(await organization(postern))];
  const { userId, username, client } = await signedUp(postern, { organizationId });
  const { userId: viewerId, client: viewer } = await machine(postern, { organizationId });
  done(await postern.admin.post("/v1/members", { userId: viewerId, roles: ["ORG_VIEWER", "ORG_USER_MANAGER"] }, at));
  const path = `/v1/users/${userId}:export`;
  expect(refused(await viewer.get(path))).toEqual([403, "PERMISSION_DENIED"]);
  expect(refused(await stranger.get(path))).toEqual([404, "USER_NOT_FOUND"]);
  expect(refused(await owner.get("/v1/users/none:export"))).toEqual([404, "USER_NOT_FOUND"]);
  const forged = (keys: readonly string[]) => Buffer.from(JSON.stringify(keys)).toString("base64url");
  const { nextPageToken } = done(await client.get("/v1/users/me:export?pageSize=1"));
  const [query = ""] = JSON.parse(Buffer.from(nextPageToken, "base64url").toString());
  for (const keys of [
    ["99", "1", ""],
    ["x", "1", ""],
    ["0", "-1", ""],
    ["14", "infinity", "1"],
    ["14", "1", "1"],
  ])
    expect(refused(await client.get(`/v1/users/me:export?pageToken=${forged([query, ...keys])}`))).toEqual([
      ...[400, "PAGE_TOKEN_INVALID"],
    ]);

  expect(kindsIn(await exported(client, "me"))).toEqual(kindsIn(await exported(owner, userId)));
  done(await owner.post(`/v1/users/${userId}:erase`));
  expect(await exported(owner, userId)).toContainEqual({ user: expect.objectContaining({ id: userId, username }) });
  done(await owner.post(`/v1/users/${userId}:restore`));
  done(await owner.delete(`/v1/users/${userId}`));
  expect(kindsIn(await exported(owner, userId))).toEqual(["event"]);
});
