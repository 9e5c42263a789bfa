import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { eventually, readyStatus, startNode } from "../first_start.ts";
import { fixtureOf } from "../fixture/organization.ts";
import { callRest } from "../fixture/rest_call.ts";
import { type Client, clientOf, organization, type Postern } from "../harness.ts";
import { openProbe, type Probe } from "../probe.ts";
import { freePort } from "../wire/free_port.ts";
import { type Row, rows } from "./matrix_rows.ts";
import { methods, nameOf } from "./methods.ts";

/** The secrets that clients sent or were given, and the refusals that they got. */
type Seen = { readonly secrets: Set<string>; readonly refusals: string[] };

const secretKeys = [
  ...["token", "clientSecret", "password", "newPassword", "oldPassword"],
  ...["secret", "uri", "pendingToken", "challengeToken", "recoveryCode", "totpSecret"],
];

/** Adds the secrets of a message to those that are looked for. */
function collect(value: unknown, secrets: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    // What is written into the DNS for everybody to see is called a token there.
    if (key === "domain") continue;
    if (secretKeys.includes(key) && typeof inner === "string" && inner.length > 8) secrets.add(inner);
    collect(inner, secrets);
  }
}

/** A client whose secrets and refusals are noted. */
function noted(client: Client, seen: Seen): Client {
  if (client.token) seen.secrets.add(client.token);
  const call: Client["call"] = async (method, path, body, headers) => {
    collect(body, seen.secrets);
    const answer = await client.call(method, path, body, headers);
    collect(answer.body, seen.secrets);
    if (answer.status >= 400) seen.refusals.push(JSON.stringify(answer.body));
    return answer;
  };
  return {
    token: client.token,
    call,
    get: (path, headers) => call("GET", path, undefined, headers),
    post: (path, body = {}, headers = {}) => call("POST", path, body, headers),
    put: (path, body = {}, headers = {}) => call("PUT", path, body, headers),
    delete: (path, headers) => call("DELETE", path, undefined, headers),
  };
}

/** Every row of every table, as text. */
async function tablesOf({ sql }: Probe): Promise<string> {
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`;
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const found = await sql.unsafe<{ row: string }[]>(`select t::text as row from ${name} t`);
      return found.map(({ row }) => row).join("\n");
    }),
  );
  return texts.join("\n");
}

/** The whole log, as clients read it. */
async function eventsOf(admin: Client): Promise<string> {
  const pages: string[] = [];
  for (let pageToken = ""; ; ) {
    const { body } = await admin.get(
      `/v1/events?instance=true&pageSize=1000&pageToken=${encodeURIComponent(pageToken)}`,
    );
    pages.push(JSON.stringify(body.events));
    pageToken = body.nextPageToken;
    if (!pageToken) return pages.join("\n");
  }
}

test("no secret of any call is found in logs, events, metrics, refusals or tables", async () => {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = opened.use(await freshDatabase()).url;
  const dataDir = await mkdtemp(join(tmpdir(), "postern-secrets-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const masterKey = randomBytes(32).toString("base64");
  const adminToken = newToken("pt");
  const env = { LOG_LEVEL: "trace", POSTERN_MASTER_KEY: masterKey, SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "0" };
  const node = opened.use(await startNode({ databaseUrl, dataDir, port: await freePort(), adminToken, env }));
  await eventually(async () => (await readyStatus(node.url)) === 200 || undefined, "readiness");

  const seen: Seen = { secrets: new Set([masterKey, adminToken]), refusals: [] };
  const as = (token?: string) => noted(clientOf(node.url, token), seen);
  const admin = as(adminToken);
  const me = (await admin.get("/v1/users/me")).body;
  const postern: Postern = {
    ...{ url: node.url, operationsUrl: undefined, databaseUrl, config: readConfig({}), admin, as },
    ...{ adminId: me.user.id, organizationId: me.organization.id, [Symbol.asyncDispose]: async () => {} },
  };
  const fixture = await fixtureOf(postern, await organization(postern));
  const headers = { "x-service-orgid": fixture.organizationId };
  for (const method of methods.filter(({ methodKind }) => methodKind === "unary")) {
    const request = await (rows[nameOf(method)] as Row).request(fixture);
    await callRest(admin, method, { ...request }, { ...headers, "idempotency-key": randomBytes(9).toString("hex") });
    // Refused for a field that is unknown, for a token that is, and without one.
    await callRest(admin, method, { ...request, unknownField: 1 }, headers);
    await callRest(as(newToken("pt")), method, { ...request }, headers);
    await callRest(as(), method, { ...request }, headers);
  }
  await using probe = openProbe(databaseUrl);
  const places = {
    logs: node.output(),
    metrics: await (await fetch(`${node.url}/metrics`)).text(),
    events: await eventsOf(admin),
    refusals: seen.refusals.join("\n"),
    tables: await tablesOf(probe),
  };
  expect(seen.secrets.size).toBeGreaterThan(20);
  for (const [place, text] of Object.entries(places)) {
    expect(text.length, place).toBeGreaterThan(1000);
    expect(
      [...seen.secrets].filter((secret) => text.includes(secret)),
      place,
    ).toEqual([]);
  }
  expect(places.logs).not.toContain("+41446681800");
});
