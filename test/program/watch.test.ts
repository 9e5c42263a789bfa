import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { freshDatabase } from "../database.ts";
import { machine, startPostern } from "../harness.ts";
import { delegation, exchanged, userTokens } from "../provider/delegation.ts";
import { done } from "../provider/holding.ts";
import { freePort } from "../wire/free_port.ts";
import { postern as program, running } from "./command.ts";

type Line = { readonly type: string; readonly objectId: string };

test("watch prints events, and goes on after the last one when the service was restarted", async () => {
  await using database = await freshDatabase();
  const port = await freePort();
  const first = await startPostern({ databaseUrl: database.url, port });
  const { adminToken = "", masterKeys } = first.config;
  const env = { POSTERN_ADMIN_TOKEN: adminToken };
  const args = ["watch", "--url", first.url, "--types", "user.machine_created"];
  await using watching = running(args, env);
  const seen = () => watching.lines().map((line) => (line as Line).objectId);
  const wait = { timeout: 60_000, interval: 500 };
  await vi.waitFor(async () => {
    await machine(first);
    expect(seen()).not.toEqual([]);
  }, wait);
  await first[Symbol.asyncDispose]();
  await using second = await startPostern({ databaseUrl: database.url, port, adminToken, masterKeys });
  const { userId } = await machine(second);
  await vi.waitFor(() => expect(seen()).toContain(userId), wait);
  expect(new Set(seen()).size).toBe(seen().length);
  expect(watching.lines().every((line) => (line as Line).type === "user.machine_created")).toBe(true);
  expect(await watching.stop("SIGINT")).toBe(0);
});

test("watch prints what is about a user, about a project, or on behalf of a user, alone", async () => {
  await using postern = await startPostern();
  const env = { POSTERN_ADMIN_TOKEN: postern.config.adminToken ?? "" };
  const { userId } = await machine(postern);
  const { body } = await postern.admin.post("/v1/projects", { name: "Watched" });
  const from = ["watch", "--url", postern.url, "--after", "0"];
  await using ofUser = running([...from, "--about-user", userId], env);
  await using ofProject = running([...from, "--project", body.projectId], env);
  const mine = await delegation(postern);
  done(await exchanged(mine, (await userTokens(mine)).access_token));
  const acting = ["--on-behalf-of", mine.person.userId, "--actor", mine.machine.userId];
  await using onBehalf = running([...from, ...acting], env);
  const types = (one: typeof ofUser) => one.lines().map((line) => (line as Line).type);
  const wait = { timeout: 60_000 };
  await vi.waitFor(() => expect(types(ofUser)).toEqual(["user.machine_created", "access_token.created"]), wait);
  await vi.waitFor(() => expect(types(ofProject)).toEqual(["project.created"]), wait);
  await vi.waitFor(() => expect(types(onBehalf)).toEqual(["delegation.begun"]), wait);
});

test("watch writes to a file that says where to go on, also after a line that was not finished", async () => {
  await using postern = await startPostern();
  const env = { POSTERN_ADMIN_TOKEN: postern.config.adminToken ?? "" };
  const file = join(postern.config.dataDir, "events.jsonl");
  const args = ["watch", "--url", postern.url, "--after", "0", "--types", "user.machine_created", "--output", file];
  const written = async () => (await readFile(file, "utf8").catch(() => "")).split("\n").slice(0, -1);
  const ids = async () => (await written()).map((line) => (JSON.parse(line) as Line).objectId);
  const wait = { timeout: 60_000, interval: 100 };
  const users = [await machine(postern), await machine(postern)].map(({ userId }) => userId);
  const first = running(args, env);
  await vi.waitFor(async () => expect(await ids()).toEqual(users), wait);
  expect(await first.stop("SIGKILL")).not.toBe(0);
  await appendFile(file, '{"position": "half a li');
  users.push((await machine(postern)).userId);
  await using second = running(args, env);
  await vi.waitFor(async () => expect(await ids()).toEqual(users), wait);
  expect(await second.stop("SIGINT")).toBe(0);

  // A file that was named by mistake keeps its last line.
  const notes = join(postern.config.dataDir, "notes.txt");
  await writeFile(notes, "not an event");
  const refused = await program([...args.slice(0, -1), notes], { env });
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("it holds something other than events")]);
  expect(await readFile(notes, "utf8")).toBe("not an event");
});

test("export-events writes what happened before a date, and goes on after the last whole line", async () => {
  await using postern = await startPostern();
  const env = { POSTERN_ADMIN_TOKEN: postern.config.adminToken ?? "" };
  const file = join(postern.config.dataDir, "events.jsonl");
  const exported = (before: string) =>
    program(["export-events", file, "--before", before, "--url", postern.url], { env });
  const written = async () => (await readFile(file, "utf8")).split("\n").slice(0, -1);
  const { userId } = await machine(postern);
  expect((await exported("2020-01-01")).out).toContain("0 events");
  expect(await written()).toEqual([]);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const { code, out } = await exported(tomorrow);
  const lines = await written();
  expect([code, out]).toEqual([0, expect.stringContaining(`${lines.length} events appended to ${file}`)]);
  const { events } = (await postern.admin.get("/v1/events?instance=true&pageSize=1000")).body;
  expect(lines.map((line) => JSON.parse(line))).toEqual(events.toReversed());

  await appendFile(file, '{"position": "half a li');
  await postern.admin.delete(`/v1/users/${userId}`);
  await exported(tomorrow);
  const all = await written();
  expect(all.slice(0, lines.length)).toEqual(lines);
  expect(all.slice(lines.length).map((line) => (JSON.parse(line) as Line).type)).toContain("user.deleted");
  expect((await exported("yesterday")).code).toBe(2);
});

test("replay has the events of a subscription delivered from a position", async () => {
  await using postern = await startPostern();
  const env = { POSTERN_ADMIN_TOKEN: postern.config.adminToken ?? "" };
  const wanted = { url: "https://receiver.example/", types: ["organization.purged"] };
  const { subscriptionId } = (await postern.admin.post("/v1/subscriptions", wanted)).body;
  await postern.admin.post(`/v1/subscriptions/${subscriptionId}:pause`);
  expect(await program(["replay", subscriptionId, "--from", "0", "--url", postern.url], { env })).toMatchObject({
    code: 0,
  });
  const { body } = await postern.admin.get(`/v1/subscriptions/${subscriptionId}`);
  expect(body.subscription).toMatchObject({ state: "SUBSCRIPTION_STATE_ACTIVE", details: { sequence: "3" } });
  const none = await program(["replay", "none", "--from", "0", "--url", postern.url], { env });
  expect([none.code, none.err]).toEqual([5, expect.stringContaining("SUBSCRIPTION_NOT_FOUND")]);
  expect((await program(["replay", subscriptionId, "--url", postern.url], { env })).code).toBe(2);
});

test("watch of a service that is not there, or refuses, ends with the code of the refusal", async () => {
  expect((await program(["watch", "--url", "http://127.0.0.1:1"])).code).toBe(7);
  await using postern = await startPostern();
  const { code, err } = await program(["watch", "--url", postern.url]);
  expect([code, err]).toEqual([4, expect.stringMatching(/^postern: UNAUTHENTICATED /)]);
});
