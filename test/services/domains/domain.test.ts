import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { rebuild } from "../../../src/events/rebuild.ts";
import { folds } from "../../../src/runtime/modules.ts";
import { oneConnection } from "../../events/log_of.ts";
import { heldJobs } from "../../fixture/many_holders.ts";
import { type Answer, clientOf, machine, organization, type Postern } from "../../harness.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { type DnsServer, openDnsServer, type Said } from "./dns_server.ts";

let dns: DnsServer;
let nodes: TwoNodes;
let postern: Postern;
let database: ReturnType<typeof oneConnection>;
beforeAll(async () => {
  dns = await openDnsServer();
  nodes = await startTwoNodes({ domainNameServers: [dns.address] });
  postern = nodes.one;
  database = oneConnection(nodes.databaseUrl);
});
afterAll(async () => {
  await database?.[Symbol.asyncDispose]();
  await nodes?.[Symbol.asyncDispose]();
  await dns?.[Symbol.asyncDispose]();
});

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason, body.details?.[0]?.metadata];
const unique = () => `${crypto.randomUUID().slice(0, 12)}.example`;
const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 60_000, interval: 50 });

/** An organization, and calls of its owner about a domain, at either node. */
async function tenant() {
  const id = await organization(postern);
  const header = { "x-service-orgid": id };
  const { userId, client } = await machine(postern, { organizationId: id });
  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, header));
  const owner = client;
  const added = async (name: string, by = owner, fields = {}) => {
    const body = done(await by.post("/v1/domains", { name, ...fields }, header));
    const path = `/v1/domains/${body.domainId}`;
    return {
      id: body.domainId as string,
      record: body.record as { name: string; value: string },
      say: (said: Said) => void dns.zone.set(body.record.name, said),
      read: async () => done(await owner.get(path)).domain,
      verify: (at = postern, fields = {}) => clientOf(at.url, owner.token).post(`${path}:verify`, fields),
      give: () => postern.admin.post(`${path}:verify`, { withoutDns: true }, header),
      remove: () => owner.delete(path),
      events: async () =>
        done(await owner.get(`/v1/events?objectId=${body.domainId}`)).events.map((one: { type: string }) => one.type),
    };
  };
  return { id, header, owner, added };
}

type Tried = Awaited<ReturnType<Awaited<ReturnType<typeof tenant>>["added"]>>;

/** Has the nodes look a domain up now; returns it once they have, as many days after the last change as given. */
async function lookedUp({ id, read }: Tried, daysLater = 0) {
  const [row] = await database.sql<{ checked: Date | null }[]>`
    with moved as (
      update domains set missing_since = missing_since - make_interval(days => ${daysLater}) where domain_id = ${id})
    update domain_checks set due = now() where domain_id = ${id} returning checked`;
  await eventually(async () => {
    const date = (await read()).lastCheck?.date;
    expect(date && new Date(date).getTime()).toBeGreaterThan(row?.checked?.getTime() ?? 0);
  });
  return read();
}

test("an administrator adds a domain, sets the record and verifies it; until then the answers say what DNS has", async () => {
  const { owner, added } = await tenant();
  const name = `münchen-${unique()}`;
  const domain = await added(name.toUpperCase());
  const { record, say, read, verify } = domain;
  const ascii = new URL(`https://${name}`).hostname;
  expect(record).toEqual({
    name: `_postern-challenge.${ascii}`,
    value: expect.stringMatching(/^postern-domain-verification=[0-9a-f]{32}$/),
  });
  expect(await read()).toMatchObject({ name: ascii, unicodeName: name, state: "DOMAIN_STATE_PENDING", record });
  expect(await read()).not.toHaveProperty("lastCheck");
  expect(refused(await owner.post("/v1/domains", { name: `${ascii}.` }))).toEqual([
    409,
    "DOMAIN_EXISTS",
    { name: ascii, domainId: domain.id },
  ]);

  const missing = async (said: Said, answer: string) => {
    say(said);
    const metadata = { record: record.name, value: record.value, answer };
    expect(refused(await verify())).toEqual([400, "DOMAIN_RECORD_MISSING", metadata]);
    expect((await read()).lastCheck).toMatchObject({ result: "DOMAIN_CHECK_RESULT_MISSING", answer });
  };
  await missing("absent", "the name does not exist");
  await missing("empty", "the name has no TXT record");
  const wrong = `${record.value}0`;
  await missing({ texts: ["v=spf1 -all", wrong] }, `"v=spf1 -all", "${wrong}"`);
  say({ texts: [wrong, record.value] });
  const { details } = done(await verify());
  const found = await read();
  expect(found).toMatchObject({
    state: "DOMAIN_STATE_VERIFIED",
    withoutDns: false,
    details,
    verificationDate: details.changeDate,
    lastCheck: { result: "DOMAIN_CHECK_RESULT_FOUND", answer: `"${wrong}", "${record.value}"` },
  });
  const hours = (new Date(found.nextCheckDate).getTime() - Date.now()) / 3_600_000;
  expect(hours).toBeGreaterThan(20);
  expect(hours).toBeLessThanOrEqual(24);
  expect(done(await verify()).details).toEqual(details);
  expect(await domain.events()).toEqual(["domain.verified", "domain.added"]);
  const second = await added(unique());
  expect(done(await owner.get("/v1/domains")).domains.map(({ id }: { id: string }) => id)).toEqual([
    second.id,
    domain.id,
  ]);
  const page = done(await owner.get("/v1/domains?pageSize=1"));
  const next = done(await owner.get(`/v1/domains?pageSize=1&pageToken=${page.nextPageToken}`));
  expect([page, next].map(({ domains }) => domains[0].id)).toEqual([second.id, domain.id]);
  done(await domain.remove());
  expect(refused(await owner.get(`/v1/domains/${domain.id}`))).toEqual([404, "DOMAIN_NOT_FOUND", { id: domain.id }]);
});

test("who waits has the domain verified once, whichever of the nodes looks it up", async () => {
  const { added } = await tenant();
  const domains = await Promise.all(Array.from({ length: 20 }, () => added(unique())));
  for (const { record, say } of domains) say({ texts: [record.value] });
  for (const found of await Promise.all(domains.map((domain) => lookedUp(domain))))
    expect(found).toMatchObject({ state: "DOMAIN_STATE_VERIFIED" });
  for (const { events } of domains) expect(await events()).toEqual(["domain.verified", "domain.added"]);
});

test("of two organizations that prove a domain, one has it, and the other is not told which", async () => {
  const [ours, theirs] = [await tenant(), await tenant()];
  const name = unique();
  const both = [await ours.added(name), await theirs.added(name)] as const;
  expect(both[0].record.value).not.toBe(both[1].record.value);
  both[0].say({ texts: both.map(({ record }) => record.value) });
  const answers = await Promise.all(both.map(({ verify }, nth) => verify(nodes.through(nth))));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  const [first, second] = answers[0]?.status === 200 ? both : [both[1], both[0]];
  expect(refused(await second.verify())).toEqual([409, "DOMAIN_TAKEN", { name }]);
  expect(await lookedUp(second)).toMatchObject({
    state: "DOMAIN_STATE_PENDING",
    lastCheck: { result: "DOMAIN_CHECK_RESULT_TAKEN" },
  });
  // An owner of the instance is told.
  expect(refused(await second.give())).toEqual([
    409,
    "DOMAIN_TAKEN",
    { name, organizationId: first === both[0] ? ours.id : theirs.id },
  ]);
  done(await first.remove());
  expect(await lookedUp(second)).toMatchObject({ state: "DOMAIN_STATE_VERIFIED" });
});

test("a verified domain whose record is missing is lost after three days, and not while DNS fails", async () => {
  const [ours, theirs] = [await tenant(), await tenant()];
  const name = unique();
  const domain = await ours.added(name);
  const { record, say, read, verify } = domain;
  say({ texts: [record.value] });
  done(await verify());
  say("absent");
  // Whoever asks changes nothing: a record that is missing at one moment is nothing yet.
  expect(refused(await verify())[1]).toBe("DOMAIN_RECORD_MISSING");
  expect(await read()).toMatchObject({ state: "DOMAIN_STATE_VERIFIED" });
  const missed = await lookedUp(domain);
  expect(missed).toMatchObject({ state: "DOMAIN_STATE_RECORD_MISSING", missingSince: missed.details.changeDate });
  say({ texts: [record.value] });
  const back = await lookedUp(domain, 2);
  expect(back).toMatchObject({ state: "DOMAIN_STATE_VERIFIED" });
  expect(back).not.toHaveProperty("missingSince");

  for (const said of ["failed", "refused", "truncated"] as const) {
    say(said);
    const failed = await lookedUp(domain, 10);
    expect(failed).toMatchObject({
      state: "DOMAIN_STATE_VERIFIED",
      lastCheck: { result: "DOMAIN_CHECK_RESULT_FAILED" },
    });
  }
  expect(refused(await verify())[1]).toBe("DOMAIN_CHECK_FAILED");
  say("empty");
  expect(await lookedUp(domain)).toMatchObject({ state: "DOMAIN_STATE_RECORD_MISSING" });
  expect(await lookedUp(domain, 2)).toMatchObject({ state: "DOMAIN_STATE_RECORD_MISSING" });
  say("failed");
  expect(await lookedUp(domain, 10)).toMatchObject({ state: "DOMAIN_STATE_RECORD_MISSING" });
  say("absent");
  expect(await lookedUp(domain)).toMatchObject({ state: "DOMAIN_STATE_LOST" });
  const types = ["verified", "record_missed", "verified", "record_missed", "lost"].map((kind) => `domain.${kind}`);
  expect(await domain.events()).toEqual(["domain.added", ...types].reverse());

  const other = await theirs.added(name);
  say({ texts: [record.value, other.record.value] });
  done(await other.verify());
  expect(await lookedUp(domain)).toMatchObject({ lastCheck: { result: "DOMAIN_CHECK_RESULT_TAKEN" } });
  done(await other.remove());
  done(await verify());
});

test("an owner of the instance gives a domain, and nobody else; it is not looked up", async () => {
  const { owner, header, added } = await tenant();
  const name = unique();
  for (const fields of [
    { name, withoutDns: true },
    { name: unique(), withoutDns: true },
  ])
    expect(refused(await owner.post("/v1/domains", fields)).slice(0, 2)).toEqual([403, "PERMISSION_DENIED"]);
  const given = await added(name, postern.admin, { withoutDns: true });
  const pending = await added(unique());
  expect(refused(await pending.verify(postern, { withoutDns: true })).slice(0, 2)).toEqual([403, "PERMISSION_DENIED"]);
  done(await pending.give());
  for (const { read, verify, record } of [given, pending]) {
    const shown = await read();
    expect(shown).toMatchObject({ state: "DOMAIN_STATE_VERIFIED", withoutDns: true });
    expect(shown).not.toHaveProperty("nextCheckDate");
    expect(done(await verify()).details).toEqual(shown.details);
    expect(dns.asked).not.toContain(record.name);
  }
  const theirs = { "x-service-orgid": await organization(postern) };
  expect(refused(await postern.admin.post("/v1/domains", { name, withoutDns: true }, theirs))).toEqual([
    409,
    "DOMAIN_TAKEN",
    { name, organizationId: header["x-service-orgid"] },
  ]);
});

test("the domains of a deleted organization are free at once", async () => {
  const [ours, theirs] = [await tenant(), await tenant()];
  const name = unique();
  const [domain, other] = [await ours.added(name), await theirs.added(name)];
  domain.say({ texts: [domain.record.value, other.record.value] });
  done(await domain.verify());
  const pending = await ours.added(unique());
  pending.say({ texts: [pending.record.value] });
  let jobId = "";
  {
    await using _ = await heldJobs(postern);
    ({ jobId } = done(await postern.admin.delete(`/v1/organizations/${ours.id}`)));
    done(await other.verify());
    // Nothing verifies a domain of an organization that is gone.
    await database.sql`update domain_checks set due = now() where domain_id = ${pending.id}`;
    await eventually(() => expect(dns.asked).toContain(pending.record.name));
  }
  done(await postern.admin.get(`/v1/jobs/${jobId}:wait?instance=true`));
  const events = async (id: string) =>
    done(await postern.admin.get(`/v1/events?instance=true&objectId=${id}`)).events.map(
      (one: Answer["body"]) => one.type,
    );
  expect(await events(domain.id)).toEqual(["domain.removed", "domain.verified", "domain.added"]);
  expect(await events(pending.id)).toEqual(["domain.removed", "domain.added"]);
  const [left] = await database.sql`select from domain_checks where owner = ${ours.id}`;
  expect(left).toBeUndefined();
});

test("whatever a name server answers, what is kept of it is short and plain", async () => {
  const { added } = await tenant();
  const { say, read, verify, record } = await added(unique());
  say({ texts: [`\u0000\u001b[31m\u202e${"x".repeat(2_000)}`, ...Array.from({ length: 40 }, (_, n) => `text ${n}`)] });
  expect(refused(await verify())[1]).toBe("DOMAIN_RECORD_MISSING");
  const { answer } = (await read()).lastCheck;
  expect(answer).toMatch(/^"[ -~]{100}\.\.\.", "text 0", "text 1", "text 2", "text 3", and 36 more$/);
  expect(answer).toContain("?[31m");
  // The record may stand last among many.
  say({ texts: [...Array.from({ length: 500 }, (_, n) => `${n}`), record.value] });
  done(await verify());
});

test("name servers that do not answer hold up nobody else", async () => {
  const [ours, theirs] = [await tenant(), await tenant()];
  const silent = await Promise.all(Array.from({ length: 60 }, () => ours.added(unique())));
  for (const { say } of silent) say("silent");
  const [called, waiting] = [await theirs.added(unique()), await theirs.added(unique())];
  for (const { record, say } of [called, waiting]) say({ texts: [record.value] });
  const ids = silent.map(({ id }) => id);
  await database.sql`update domain_checks set due = now() where domain_id = any(${ids})`;
  const calls = silent.slice(0, 20).map(({ verify }) => verify());
  await eventually(() =>
    expect(silent.filter(({ record }) => dns.asked.includes(record.name)).length).toBeGreaterThan(24),
  );
  done(await called.verify());
  await lookedUp(waiting);
  // So the others came first, although they waited for nothing but their turn.
  const [{ unchecked } = { unchecked: 0 }] = await database.sql<{ unchecked: number }[]>`
    select count(*)::int as unchecked from domain_checks where domain_id = any(${ids}) and checked is null`;
  expect(unchecked).toBeGreaterThan(0);
  for (const answer of await Promise.all(calls))
    expect(["DOMAIN_CHECK_FAILED", "OVERLOADED"]).toContain(refused(answer)[1]);
  expect(await silent[0]?.read()).toMatchObject({
    state: "DOMAIN_STATE_PENDING",
    lastCheck: { result: "DOMAIN_CHECK_RESULT_FAILED", answer: "the name servers did not answer in time" },
  });
});

test("an organization can ask for 30 lookups per minute, and others can still ask", async () => {
  const [ours, theirs] = [await tenant(), await tenant()];
  const [domain, other] = [await ours.added(unique()), await theirs.added(unique())];
  const answers = await Promise.all(Array.from({ length: 40 }, () => domain.verify()));
  const limited = answers.filter((answer) => refused(answer)[1] === "RATE_LIMIT");
  expect(limited.length).toBeGreaterThan(0);
  expect(limited[0]?.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(refused(await other.verify())[1]).toBe("DOMAIN_RECORD_MISSING");
});

test("the log replayed gives the same domains", async () => {
  expect(await rebuild(database.sql, folds)).toEqual({ equal: true, differences: [] });
});
