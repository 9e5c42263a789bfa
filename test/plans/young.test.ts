import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../database.ts";
import { openClient } from "../fixture/database_client.ts";
import { root } from "../rules/tree.ts";
import { planAsTheService } from "./plan.ts";

const folders = ["test/statements", "test/provider/statements"];

/** The statements that the service sends, as files show them. */
const statements = folders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  .filter((file) => file.endsWith(".sql"))
  .flatMap((file) => readFileSync(join(root, file), "utf8").split(/;\n/))
  .map((text) => text.replace(/^\s*--.*\n/gm, "").trim())
  .filter((text) => /^(with|select|insert|update|delete)\b/.test(text));

test("a plan that was made while the tables were empty hashes none of them, which would be read whole once they are full", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  await planAsTheService(sql.client);
  await sql.client.unsafe("vacuum analyze");
  const hashing: string[] = [];
  for (const text of new Set(statements)) {
    const rows = await sql.client.unsafe<{ "QUERY PLAN": string }[]>(`explain (generic_plan) ${text}`);
    if (rows.some((row) => row["QUERY PLAN"].includes("(hashed SubPlan"))) hashing.push(text);
  }
  expect(hashing).toEqual([]);
  expect(statements.length).toBeGreaterThan(100);
});

const appended = (owner: string, type: string, count: number) => `
  insert into events (owner, stream, version, type, payload, request_id, time)
  select ${owner}, gen_random_uuid(), 1, ${type}, '{}', 'request', now() from generate_series(1, ${count}) n`;

const subscribed = (organizations: number, each: number) => `
  with new as (
    insert into subscriptions (owner, subscription_id, url, types, instance, version, created, changed)
    select 'organization' || o, o || '-' || n, 'https://receiver.example', '{project.created}', false, 1, now(), now()
    from generate_series(1, ${organizations}) o, generate_series(1, ${each}) n on conflict do nothing returning owner, subscription_id)
  insert into subscription_deliveries (subscription_id, owner, number, batch, due)
  select subscription_id, owner, 0, '', 'infinity' from new`;

test("whoever numbers events looks up the subscriptions of their organizations only, and compares each of them once", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  const { client } = sql;
  await planAsTheService(client);
  const numbered = async () => {
    const [row] = await client.unsafe("explain (analyze, buffers, format json) select number_events(true)");
    return row?.["QUERY PLAN"][0].Plan;
  };
  // The plan of one subscription.
  await client.unsafe(subscribed(1, 1));
  await client.unsafe("vacuum analyze");
  await client.unsafe(appended("'nobody'", "'project.created'", 20_000));
  for (let n = 0; n < 4; n += 1) await client.unsafe("select number_events(true)");

  await client.unsafe(subscribed(400, 10));
  await client.unsafe(appended("'organization7'", "'project.created'", 1));
  expect((await numbered())["Shared Hit Blocks"]).toBeLessThan(500);
  expect(await client.unsafe("select from subscription_deliveries where due < 'infinity'")).toHaveLength(10);

  // What does not fit into memory is counted when it is read.
  await client.unsafe("set work_mem = '64kB'");
  await client.unsafe(appended("'organization' || n % 400", "'type' || n / 400", 4_000));
  expect((await numbered())["Temp Read Blocks"]).toBeLessThan(1_000);
});

test("tokens of machines are written without reading other users and credentials, by a plan made while there were two; one whose credential is gone fails none", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  const { client } = sql;
  const people = (from: number, to: number) =>
    client.unsafe(`
      insert into users (owner, user_id, kind, username, version, created, changed)
      select 'big', 'robot' || n, 'machine', 'robot' || n, 1, now(), now() from generate_series(${from}, ${to}) n;
      insert into machine_proofs (credential_id) select 'secret' || n from generate_series(${from}, ${to}) n`);
  await client.unsafe(`
    insert into organizations (organization_id, name, version, created, changed) values ('big', 'big', 1, now(), now())`);
  await people(1, 2);
  await client.unsafe("vacuum analyze");
  await planAsTheService(client);
  const writes = ["again", "first"] as const;
  await client.unsafe(preparing("test/provider/statements/machine_again.sql", "", "again"));
  await client.unsafe(preparing("test/provider/statements/machine.sql", "", "first"));
  let made = 0;
  const execute = (write: (typeof writes)[number], count: number) => {
    // The last one's credential is gone, which fails none of the others.
    const keys = Array.from({ length: count + 1 }, (_, n) => ({
      ...{ n, hash: `\\xff${String(++made).padStart(62, "0")}`, user_id: `robot${n + 1}` },
      credential_id: n === count ? "none" : `secret${n + 1}`,
      ...{ organization: "big", project: null, resource: null, scope: "", jkt: null, origin: null },
      ...{ now: "2026-01-01T00:00:00Z", ends: "2026-01-01T00:10:00Z" },
    }));
    return client.unsafe(`explain (analyze, buffers, format json) execute ${write} ('${JSON.stringify(keys)}')`);
  };
  for (const write of writes) await execute(write, 2);
  await people(3, 20_000);
  const blocks: number[][] = [];
  for (const count of [1, 50])
    for (const write of writes) {
      const [row] = await execute(write, count);
      blocks.push([row?.["QUERY PLAN"][0].Plan["Shared Hit Blocks"], 1_000 + 60 * count]);
    }
  // To read the others once takes 44,000.
  expect(blocks.filter(([read = 0, most = 0]) => read > most)).toEqual([]);
  expect(await client.unsafe("select from machine_tokens")).toHaveLength(106);
  const used = await client.unsafe("select credential_id as id from machine_proofs where last_used is not null");
  expect(used).toHaveLength(50);
});

/** Machines, each with a personal access token, a client id, a credential and a token for our API. */
const machines = (from: number, to: number): string => {
  const each = `from generate_series(${from}, ${to}) n`;
  return `
    insert into users (owner, user_id, kind, username, version, created, changed)
    select 'big', 'robot' || n, 'machine', 'robot' || n, 1, now(), now() ${each};
    insert into access_tokens (owner, token_id, user_id, expiration_date, version, created, changed)
    select 'big', 'token' || n, 'robot' || n, 'infinity', 1, now(), now() ${each};
    insert into bearers (hash, owner, user_id, token_id, expiration_date)
    select sha256(('bearer' || n)::bytea), 'big', 'robot' || n, 'token' || n, 'infinity' ${each};
    insert into machine_client_ids (client_id, owner, user_id) select 'client' || n, 'big', 'robot' || n ${each};
    insert into machine_credentials (owner, credential_id, user_id, access_token_type, version, created, changed)
    select 'big', 'secret' || n, 'robot' || n, '', 1, now(), now() ${each};
    insert into machine_proofs (credential_id) select 'secret' || n ${each};
    insert into machine_tokens (hash, credential_id, user_id, organization_id, scope, for_api, created, expiration_date)
    select sha256(n::text::bytea), 'secret' || n, 'robot' || n, 'big', '', true, now(), 'infinity' ${each}`;
};

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

const ofCredential = (type: string, n: number) => ({
  ...{ n: 0, owner: "big", stream: `secret${n}`, version: 2, type: `machine_credential.${type}`, payload: {} },
  secret: { hash: hashOf(String(n)) },
  ...{ actor: null, request_id: "request", origin: null, time: "2026-01-01T00:00:00Z" },
});

test("a machine, a caller, and a token or credential that ends are found among many by a plan made while there were few", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  const { client } = sql;
  await client.unsafe(`
    insert into organizations (organization_id, name, version, created, changed)
    values ('big', 'big', 1, now(), now()), ('other', 'other', 1, now(), now());
    ${machines(1, 2)}`);
  await client.unsafe("vacuum analyze");
  await planAsTheService(client);
  await client.unsafe(preparing("test/provider/statements/machine.sql", '"clientId"', "machine"));
  await client.unsafe(preparing("test/statements/facts/machine_credential.removed.sql", "", "removed"));
  await client.unsafe(preparing("test/statements/facts/machine_credential.token_revoked.sql", "", "token_revoked"));
  await client.unsafe(preparing("test/statements/guards/callerRead.sql", "", "caller"));
  const asked = async (statement: string, key: object) => {
    const asking = `execute ${statement} ('${JSON.stringify([{ n: 0, ...key }])}')`;
    const [row] = await client.unsafe(`explain (analyze, buffers, format json) ${asking}`);
    expect(row?.["QUERY PLAN"][0].Plan["Actual Rows"]).toBe(1);
    return row?.["QUERY PLAN"][0].Plan["Shared Hit Blocks"];
  };
  const execute = async (n: number) => {
    const ending = (type: string, at: number) =>
      blocksOfDeletion(client, `execute ${type} ('${JSON.stringify([ofCredential(type, at)])}')`);
    return [
      await asked("machine", { client_id: `client${n}`, now: "2026-01-01T00:00:00Z" }),
      await asked("caller", { hash: hashOf(String(n)) }),
      await asked("caller", { hash: hashOf(`bearer${n}`) }),
      await ending("token_revoked", n),
      await ending("removed", n - 1),
    ];
  };
  await execute(1);
  await client.unsafe(machines(3, 10_000));
  const blocks = await execute(7_000);
  // To read the others once takes 1,300.
  expect([blocks, blocks.filter((read) => read > 600)]).toEqual([blocks, []]);
  expect(await client.unsafe("select from machine_tokens")).toHaveLength(10_000 - 3);
});

/** People, each with a session, a sign-on to a first-party application of their own, and one to the console. */
const signOns = (from: number, to: number): string => {
  const each = `from generate_series(${from}, ${to}) n`;
  const entity = "1, now(), now()";
  return `
    insert into users (owner, user_id, kind, username, version, created, changed)
    select 'big', 'user' || n, 'human', 'user' || n, ${entity} ${each};
    insert into projects (owner, project_id, name, version, created, changed)
    select 'big', 'project' || n, 'project' || n, ${entity} ${each};
    insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed)
    select 'big', 'app' || n, 'project' || n, 'app', 'client' || n, '{"firstParty": true}', ${entity} ${each};
    insert into sessions (owner, session_id, user_id, expiration_date, version, created, changed)
    select 'big', 'session' || n, 'user' || n, 'infinity', ${entity} ${each};
    insert into bearers (hash, owner, user_id, session_id, expiration_date)
    select sha256(('bearer' || n)::bytea), 'big', 'user' || n, 'session' || n, 'infinity' ${each};
    insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date)
    select 'session' || n, 'big', 'user' || n, sha256(n::text::bytea), now(), '{pwd}', 'infinity', 'infinity' ${each};
    insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, created, expiration_date)
    select 'on' || n, 'session' || n, 'user' || n, 'app' || n, 'big', '', true, now(), 'infinity' ${each};
    insert into sign_on_tokens (hash, sign_on_id, scope, created, expiration_date)
    select sha256(('application' || n)::bytea), 'on' || n, '', now(), 'infinity' ${each};
    insert into console_sign_ons (code_hash, session_id, challenge, code_expiration_date, token_hash, expiration_date)
    select sha256(n::text::bytea), 'session' || n, '', now(), sha256(('console' || n)::bytea), 'infinity' ${each}`;
};

test.each([1, 2, 10])(
  "a caller with a session, an application or the console is found among many by a plan made while there were %i",
  async (few) => {
    await using database = await freshDatabase();
    await using sql = openClient(database.url);
    const { client } = sql;
    await client.unsafe(`
      insert into organizations (organization_id, name, version, created, changed) values ('big', 'big', 1, now(), now());
      ${signOns(1, few)}`);
    await client.unsafe("vacuum analyze");
    await planAsTheService(client);
    await client.unsafe(preparing("test/statements/guards/callerRead.sql", "", "caller"));
    const blocksOf = async (kind: string, n: number) => {
      const asking = `execute caller ('${JSON.stringify([{ n: 0, hash: hashOf(`${kind}${n}`) }])}')`;
      const [row] = await client.unsafe(`explain (analyze, buffers, format json) ${asking}`);
      const { Plan } = row?.["QUERY PLAN"][0] ?? {};
      return { kind, found: Plan["Actual Rows"], blocks: Plan["Shared Hit Blocks"] };
    };
    await blocksOf("application", 1);
    await client.unsafe(signOns(few + 1, 1_000));
    const asked = [];
    for (const kind of ["bearer", "application", "console"]) asked.push(await blocksOf(kind, 700));
    // To read the others once takes 100 and more.
    const missed = asked.filter(({ found, blocks }) => found !== 1 || blocks > 80);
    expect([asked, missed]).toEqual([asked, []]);
  },
);

const keyOf = (login_name: string, of: { organization?: string } = {}) => {
  const [, local_part = null, domain = null] = /^(.*)@(.*)$/.exec(login_name) ?? [];
  return { n: 0, login_name, organization: null, address: domain && login_name, local_part, domain, ...of };
};

test("a login name or an address is looked up in few blocks, however many share it, by a plan made while the tables were empty", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  const { client } = sql;
  await planAsTheService(client);
  const file = readFileSync(join(root, "test/statements/guards/userOfLoginNameRead.sql"), "utf8");
  await client.unsafe(`prepare asked as ${file.replace(/^\s*--.*\n/gm, "").replace(/;\s*$/, "")}`);
  const execute = (key: object) => `execute asked ('${JSON.stringify([key])}')`;
  await client.unsafe(execute(keyOf("jane@example.com")));

  const count = 10_000;
  const organizations = ["big", "other"].map((id) => `('${id}', '${id}', 1, now(), now())`).join(", ");
  const row = (columns: string) => `
    insert into users (owner, user_id, kind, username, email, email_verified, email_setter, proven_email, version, created, changed)
    select ${columns}, 1, now(), now() from generate_series(1, ${count}) n`;
  await client.unsafe(`
    insert into organizations (organization_id, name, version, created, changed) values ${organizations};
    ${row(`'other', 'each' || n, 'human', 'each' || n, 'each' || n || '@example.com', true, 'admin', 'each' || n || '@example.com'`)};
    ${row(`'big', 'said' || n, 'human', 'said' || n, 'said@example.com', true, 'admin', null`)};
    ${row(`'big', 'self' || n, 'human', 'self' || n, 'self@firm.example', false, 'self' || n, null`)};
    ${row(`'big', 'many' || n, 'human', 'many' || n, 'many@firm.example', true, 'admin', 'many@firm.example'`)};
    insert into login_names (login_name, owner, user_id) select username, owner, user_id from users;
    insert into domains (owner, domain_id, name, token, proven, without_dns, version, created, changed)
    select 'big', 'domain' || n, case n when 1 then 'firm.example' else n || '.example' end, '', true, true, 1, now(), now()
    from generate_series(1, 1000) n`);

  const found: unknown[] = [];
  const blocks: [number, object][] = [];
  for (const key of [
    keyOf("each7"),
    keyOf("each7@example.com"),
    keyOf("each7", { organization: "other" }),
    keyOf("each7@example.com", { organization: "other" }),
    keyOf("said@example.com"),
    keyOf("said@example.com", { organization: "big" }),
    keyOf("self@firm.example"),
    keyOf("many@firm.example"),
    keyOf("many7@firm.example"),
    keyOf("nobody@firm.example"),
    keyOf("nobody@example.com"),
    keyOf("nobody"),
  ]) {
    const [one] = await client.unsafe(execute(key));
    found.push(one?.userId);
    const [line] = await client.unsafe(`explain (analyze, buffers, format json) ${execute(key)}`);
    blocks.push([line?.["QUERY PLAN"][0].Plan["Shared Hit Blocks"], key]);
  }
  const none = undefined;
  expect(found).toEqual(["each7", "each7", "each7", "each7", none, none, none, none, "many7", none, none, none]);
  expect(blocks.filter(([read]) => read > 30)).toEqual([]);
});

test("a request to register is decided in few blocks, whoever has the address, by a plan made while the tables were empty", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  const { client } = sql;
  await planAsTheService(client);
  const file = readFileSync(join(root, "test/statements/RegistrationService.RequestRegistration.sql"), "utf8");
  const [question = ""] = file.replace(/^\s*--.*\n/gm, "").split(/;\n/);
  await client.unsafe(`prepare asked as ${question}`);
  const execute = (email: string) =>
    `execute asked ('${JSON.stringify([{ n: 0, owner: "big", email, domain: "example.com", since: "2026-01-01" }])}')`;
  await client.unsafe(execute("nobody@example.com"));

  const many = "from generate_series(1, 10000) n";
  await client.unsafe(`
    insert into organizations (organization_id, name, version, created, changed) values ('big', 'big', 1, now(), now());
    insert into registration_policies (owner, audience, version, created, changed)
    values ('big', 'REGISTRATION_AUDIENCE_EVERYBODY', 1, now(), now());
    insert into users (owner, user_id, kind, username, email, email_verified, email_setter, version, created, changed)
    select 'big', n, 'human', n, case when n % 2 = 0 then 'many' else n::text end || '@example.com', true, 'admin', 1, now(), now() ${many};
    insert into registrations (owner, registration_id, expiration_date, version, created, changed)
    select 'big', n, now(), 1, now(), now() ${many};
    insert into registration_addresses (owner, registration_id, email) select 'big', n, 'new' || n || '@example.com' ${many};
    insert into mail_sends (email, purpose, n, user_id, time)
    select 'flooded@example.com', 'registration', n, 'other', now() from generate_series(1, 20) n;
    insert into mail_sends (email, purpose, n, user_id, time)
    select n || '@example.com', 'registration', 1, 'other', now() ${many}`);
  const blocks: [number, string][] = [];
  for (const email of [
    "nobody@example.com",
    "many@example.com",
    "7@example.com",
    "new7@example.com",
    "flooded@example.com",
  ]) {
    const [line] = await client.unsafe(`explain (analyze, buffers, format json) ${execute(email)}`);
    blocks.push([line?.["QUERY PLAN"][0].Plan["Shared Hit Blocks"], email]);
  }
  expect(blocks.filter(([read]) => read > 60)).toEqual([]);
});

/** Plans a statement of a file as a prepared one: the last, or the one that contains a text. */
const preparing = (file: string, part = "", name = "asked"): string => {
  const texts = readFileSync(join(root, file), "utf8")
    .replace(/^--.*\n/gm, "")
    .split(/;\n/);
  return `prepare ${name} as ${texts.findLast((text) => text.trim() !== "" && text.includes(part))?.trim()}`;
};

/** The blocks that a statement reads for what it deletes. */
async function blocksOfDeletion(client: ReturnType<typeof openClient>["client"], execute: string): Promise<number> {
  const [line] = await client.unsafe(`explain (analyze, buffers, format json) ${execute}`);
  const deletion = (node: Readonly<Record<string, unknown>> & { Plans?: [] }): number =>
    node.Operation === "Delete" ? Number(node["Shared Hit Blocks"]) : Math.max(0, ...(node.Plans ?? []).map(deletion));
  return deletion(line?.["QUERY PLAN"][0].Plan);
}

test("the oldest pushed request of an application is found among its own, by a plan made while the table was empty", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  const { client } = sql;
  await planAsTheService(client);
  await client.unsafe("vacuum analyze");
  await client.unsafe(preparing("test/provider/statements/pushed_request.sql", "insert into pushed_requests"));
  const pushed = (
    application: string,
    hash: string,
  ) => `execute asked ('address', now(), true, 120, true, '${application}', now(), 9999,
    true, '${application}', now(), '\\x${hash}', '${application}', '', now() + interval '1 hour', true)`;
  await client.unsafe(pushed("other", "00"));
  await client.unsafe(`
    insert into pushed_requests (hash, app_id, query, expiration_date)
    select sha256(n::text::bytea), case when n <= 10000 then 'full' else 'other' || n % 3 end, '',
      now() + interval '1 minute' - n * interval '1 millisecond' from generate_series(1, 30000) n`);
  expect(await blocksOfDeletion(client, pushed("full", "01"))).toBeLessThan(600);
  const left = await client.unsafe("select count(*)::int as n from pushed_requests where app_id = 'full'");
  expect(left).toEqual([{ n: 10_000 }]);
});

test("a token that looks for the oldest of its credential or sign-in reads those alone, by a plan made while the tables were empty", async () => {
  await using database = await freshDatabase();
  await using sql = openClient(database.url);
  const { client } = sql;
  await planAsTheService(client);
  await client.unsafe("vacuum analyze");
  const blocks = (execute: string) => blocksOfDeletion(client, execute);
  const key = { n: 0, user_id: "robot", organization: "own", scope: "", now: "now", ends: "infinity" };
  const machineToken = (credential_id: string, at: number) => {
    const hash = `\\x${at.toString(16).padStart(4, "0").padEnd(64, "0")}`;
    return `execute asked ('${JSON.stringify([{ ...key, hash, credential_id }])}')`;
  };
  await client.unsafe(preparing("test/provider/statements/machine.sql"));
  await client.unsafe(machineToken("none", 0));
  await client.unsafe(`
    insert into organizations (organization_id, name, version, created, changed) values ('own', 'own', 1, now(), now());
    insert into users (owner, user_id, kind, username, version, created, changed)
    values ('own', 'robot', 'machine', 'robot', 1, now(), now());
    insert into machine_proofs (credential_id) select 'k' || n from generate_series(0, 19) n;
    insert into machine_tokens (hash, credential_id, user_id, organization_id, scope, for_api, created, expiration_date)
    select sha256(n::text::bytea), 'k' || n % 20, 'robot', 'own', '', false, now(), now() from generate_series(1, 20400) n`);
  expect(await blocks(machineToken("k1", 1))).toBeLessThan(1_000);
  const left = await client.unsafe(
    "select count(*)::int as n from machine_tokens where credential_id in ('k1', 'k2') group by credential_id order by n",
  );
  expect(left.map(({ n }) => n)).toEqual([1_000, 1_020]);

  await client.unsafe("deallocate asked");
  await client.unsafe(preparing("test/provider/statements/exchange.sql"));
  const exchanged = (signOn: string, at: number) =>
    `execute asked ('${signOn}', 99, '\\x0${at}', '', 'robot', 'k1', '{}', '{}', '{}', '', now(), now())`;
  await client.unsafe(exchanged("none", 0));
  await client.unsafe(`
    insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date)
    values ('s', 'own', 'jane', '', now(), '{pwd}', now(), 'infinity');
    insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, created, expiration_date)
    select 'n' || n, 's', 'jane', 'app', 'own', 'openid', now(), now() from generate_series(0, 99) n;
    insert into exchanged_tokens (hash, subject, sign_on_id, user_id, credential_id, acted, served, resource, scope, created, expiration_date)
    select sha256(n::text::bytea), '', 'n' || n % 100, 'robot', 'k1', '{}', '{}', '{}', '', now(), now() from generate_series(1, 10200) n`);
  expect(await blocks(exchanged("n1", 1))).toBeLessThan(300);
  const kept = await client.unsafe(
    "select count(*)::int as n from exchanged_tokens where sign_on_id in ('n1', 'n2') group by sign_on_id order by n",
  );
  expect(kept.map(({ n }) => n)).toEqual([100, 102]);
});
