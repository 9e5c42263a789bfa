import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { providerChores } from "../../../src/provider/chores.ts";
import { signingKeys } from "../../../src/provider/tokens/signing_keys.ts";
import { type Postern, signedUp } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import { openProbe } from "../../probe.ts";
import { openHandlers } from "../../sent_statements.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import { type Application, type Person, post } from "../application.ts";
import { openBrowser } from "../browser.ts";
import {
  approve,
  askForCodes,
  beginDevice,
  deviceApplication,
  enterCode,
  poll,
  untilConfirmation,
} from "../device_flow.ts";
import { withinMinute } from "../within_minute.ts";

let nodes: TwoNodes;
let app: Application;
let person: Person;
const settings = {
  ...{ publicUrl: "https://id.example", devicePollSeconds: 60 },
  ...{ deviceGuessesPerAddressPerMinute: 5, deviceGuessesPerMinute: 1_000, deviceCodesPerAddressPerMinute: 10_000 },
};
beforeAll(async () => {
  nodes = await startTwoNodes(settings);
  [app, person] = [await deviceApplication(nodes.one.admin), await signedUp(nodes.one)];
});
afterAll(() => nodes?.[Symbol.asyncDispose]());
beforeEach(() => ask(nodes.databaseUrl, "delete from device_attempts"));

const bothErrors = async (codes: Awaited<ReturnType<typeof beginDevice>>) => [
  (await poll(nodes.one.url, app, codes)).body.error,
  (await poll(nodes.two.url, app, codes)).body.error,
];
test("a device that asks too often gets slow_down from any node, and has to wait longer from then on", async () => {
  await using probe = openProbe(nodes.databaseUrl);
  const seconds = async () => (await probe.sql`select poll_seconds from device_codes where polled is not null`)[0];
  const codes = await beginDevice(nodes.one.url, app);
  expect(await bothErrors(codes)).toEqual(["authorization_pending", "slow_down"]);
  expect(await seconds()).toEqual({ poll_seconds: 60 });
  await probe.sql`update device_codes set poll_seconds = 20, polled = now()`;
  expect((await poll(nodes.two.url, app, codes)).body.error).toBe("slow_down");
  expect(await seconds()).toEqual({ poll_seconds: 25 });
  await probe.sql`update device_codes set polled = polled - interval '25 seconds', poll_seconds = 60`;
  expect(await bothErrors(codes)).toEqual(["slow_down", "slow_down"]);
  await probe.sql`update device_codes set polled = polled - interval '60 seconds'`;
  expect(await bothErrors(codes)).toEqual(["authorization_pending", "slow_down"]);
});

test("a user who approves is not kept from a device that asked too often", async () => {
  const codes = await beginDevice(nodes.one.url, app);
  expect(await bothErrors(codes)).toEqual(["authorization_pending", "slow_down"]);
  await approve(nodes.two.url, codes, person);
  expect((await poll(nodes.one.url, app, codes)).status).toBe(200);
});

test("of ten presentations of a code at once to two nodes one succeeds, and the reuse ends what it gave", async () => {
  const codes = await beginDevice(nodes.one.url, app);
  await approve(nodes.two.url, codes, person);
  const all = await Promise.all(Array.from({ length: 10 }, (_, n) => poll(nodes.through(n).url, app, codes)));
  const won = all.filter(({ status }) => status === 200);
  expect(won.length).toBe(1);
  const lost = all.filter(({ status }) => status !== 200).map(({ status, body }) => `${status} ${body.error}`);
  expect(new Set(lost)).toEqual(new Set(["400 invalid_grant"]));
  await isWorthNothing(won[0]?.body);
});

test("a code that comes again later ends what it gave, and the log says so", async () => {
  const codes = await beginDevice(nodes.one.url, app);
  await approve(nodes.one.url, codes, person);
  const { body } = await poll(nodes.one.url, app, codes);
  expect((await poll(nodes.two.url, app, codes)).body.error).toBe("invalid_grant");
  await isWorthNothing(body);
  const { body: log } = await nodes.one.admin.get("/v1/events?types=sign_on.ended");
  expect(log.events[0].fact.signOn.ended).toMatchObject({ appId: app.appId, reason: "SIGN_ON_END_CODE_REUSED" });
});

async function isWorthNothing({ access_token, refresh_token }: { access_token: string; refresh_token: string }) {
  const headers = { authorization: `Bearer ${access_token}` };
  expect((await fetch(`${nodes.two.url}/oauth/userinfo`, { headers })).status).toBe(401);
  const form = { grant_type: "refresh_token", refresh_token, client_id: app.clientId };
  expect((await post(nodes.one.url, "/oauth/token", form)).body.error).toBe("invalid_grant");
}

test("of two users who approve at once, each five times through two nodes, one signs the device in", async () => {
  const people = [person, await signedUp(nodes.one)];
  for (let n = 0; n < 5; n++) {
    const codes = await beginDevice(nodes.one.url, app);
    const ready = await Promise.all(people.map((one, n) => untilConfirmation(nodes.through(n).url, codes, one)));
    const clicks = Array.from({ length: 5 }, () => ready).flat();
    const pages = await Promise.all(clicks.map(({ browser, page }) => browser.submit(page, {}, "continue")));
    expect(pages.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(400)]);
    const winner = people[pages.findIndex(({ status }) => status === 200) % 2];
    const { id_token } = (await poll(nodes.one.url, app, codes)).body;
    expect(JSON.parse(Buffer.from(id_token.split(".")[1], "base64url").toString()).sub).toBe(winner?.userId);
  }
});

test("of ten questions at once to two nodes one is in time", async () => {
  for (let n = 0; n < 20; n++) {
    const codes = await beginDevice(nodes.one.url, app);
    const all = await Promise.all(Array.from({ length: 10 }, (_, n) => poll(nodes.through(n).url, app, codes)));
    const errors = all.map(({ body }) => body.error).sort();
    expect(errors).toEqual(["authorization_pending", ...Array(9).fill("slow_down")]);
  }
});

const entered = async (node: Postern, code: string) => (await enterCode(node.url, code)).page.status;

async function statusesOf(at: TwoNodes, wrong: number, right: string): Promise<number[]> {
  const statuses = [];
  for (let n = 0; n < wrong; n++) statuses.push(await entered(at.through(n), "BBBB-BBBB"));
  return [...statuses, await entered(at.one, right)];
}

test("wrong codes are bounded by address, on all nodes together, and a right one is not looked for then", async () => {
  await using probe = openProbe(nodes.databaseUrl);
  const { user_code } = await beginDevice(nodes.one.url, app);
  const [statuses, counts] = await withinMinute(nodes.databaseUrl, async () => [
    await statusesOf(nodes, 6, user_code),
    await probe.sql`select attempts from device_attempts`,
  ]);
  expect(statuses).toEqual([400, 400, 400, 400, 400, 429, 429]);
  // An address that is refused uses up nothing of what all addresses have.
  expect(counts.map(({ attempts }) => attempts)).toEqual([5, 5]);
  await probe.sql`delete from device_attempts`;
  expect(await entered(nodes.two, user_code)).toBe(200);
});

test("of twenty wrong codes at once through two nodes no more are looked for than an address may enter", async () => {
  const browsers = await Promise.all(Array.from({ length: 20 }, (_, n) => atForm(nodes.through(n))));
  const statuses = await withinMinute(nodes.databaseUrl, () => Promise.all(browsers.map((send) => send())));
  expect(statuses.sort()).toEqual([...Array(5).fill(400), ...Array(15).fill(429)]);
});

/** Opens the form for a code; answers how a wrong one is sent. */
async function atForm({ url }: Postern) {
  const browser = openBrowser(url);
  const page = await browser.open(`${url}/device`);
  return async () => (await browser.submit(page, { user_code: "BBBB-BBBB" }, "code")).status;
}

test("a right code is no guess", async () => {
  const { user_code } = await beginDevice(nodes.one.url, app);
  for (let n = 0; n < 7; n++) expect(await entered(nodes.through(n), user_code)).toBe(200);
});

test("wrong codes are bounded in total", async () => {
  await using few = await startTwoNodes({
    ...settings,
    deviceGuessesPerAddressPerMinute: 100,
    deviceGuessesPerMinute: 3,
  });
  const { user_code } = await beginDevice(few.one.url, await deviceApplication(few.one.admin));
  const statuses = await withinMinute(few.databaseUrl, () => statusesOf(few, 4, user_code));
  expect(statuses).toEqual([400, 400, 400, 429, 429]);
});

test("an address gets as many codes in a minute as are set, on all nodes together, and learns when to come again", async () => {
  await using few = await startTwoNodes({ ...settings, deviceCodesPerAddressPerMinute: 4 });
  const other = await deviceApplication(few.one.admin);
  const all = await withinMinute(few.databaseUrl, async () => {
    const answers = [];
    for (let n = 0; n < 6; n++) answers.push(await askForCodes(few.through(n).url, other));
    return answers;
  });
  expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200, 503, 503]);
  expect(all[5]?.body.error).toBe("temporarily_unavailable");
  expect(Number(all[5]?.headers.get("retry-after"))).toBeGreaterThan(0);
});

test("the guesses of a minute that is over are deleted, and codes that nobody approved", async () => {
  await using probe = openProbe(nodes.databaseUrl);
  await using handlers = openHandlers(nodes.one);
  const { deps } = handlers;
  const codes = await beginDevice(nodes.one.url, app);
  const kept = await beginDevice(nodes.one.url, app);
  await approve(nodes.one.url, kept, person);
  expect((await poll(nodes.one.url, app, kept)).status).toBe(200);
  await entered(nodes.one, "BBBB-BBBB");
  await probe.sql`update device_codes set expiration_date = now() - interval '10 minutes'`;
  await probe.sql`update device_attempts set minute = minute - interval '10 minutes'`;
  for (const { batch } of providerChores(deps, signingKeys({ ...deps, instanceId: "instance" }))) await batch(1_000);
  expect(await probe.sql`select from device_attempts`).toHaveLength(0);
  expect((await poll(nodes.one.url, app, codes)).body.error).toBe("invalid_grant");
  await poll(nodes.one.url, app, kept);
  const { body: log } = await nodes.one.admin.get("/v1/events?types=sign_on.ended");
  expect(log.events[0].fact.signOn.ended.reason).toBe("SIGN_ON_END_CODE_REUSED");
});
