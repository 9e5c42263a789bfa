import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshDatabase } from "../database.ts";
import { client, eventually, readyStatus } from "../first_start.ts";
import { holdUser } from "../fixture/held_row.ts";
import { machine, type Postern, signedUp, startPostern } from "../harness.ts";
import { type DatabaseProxy, openProxy } from "../postgres/proxy.ts";
import { type Door, type DoorAnswer, openDoors } from "./doors.ts";
import { methods } from "./play.ts";

let opened: AsyncDisposableStack;
let databaseUrl: string;
let postern: Postern;
let proxy: DatabaseProxy;
let sql: ReturnType<typeof client>;
let doors: readonly Door[];

beforeAll(async () => {
  opened = new AsyncDisposableStack();
  databaseUrl = opened.use(await freshDatabase()).url;
  proxy = opened.use(await openProxy(databaseUrl));
  // Only the write asks the database: the caller is cached.
  postern = opened.use(await startPostern({ databaseUrl: proxy.url, cacheSeconds: 3600 }));
  doors = opened.use(openDoors(postern.url)).all;
  sql = client(databaseUrl);
  opened.defer(() => sql.end());
});
afterAll(() => opened?.disposeAsync());

type Write = Readonly<{ rpc: string; request: JsonObject; key?: string }>;

function ask(door: Door, { rpc, request, key }: Write): Promise<DoorAnswer> {
  const method = methods.get(rpc);
  if (!method) throw new Error(`there is no ${rpc}`);
  const keyed = key === undefined ? {} : { "idempotency-key": key };
  return door.ask({ method, request, headers: { authorization: `Bearer ${postern.admin.token}`, ...keyed } });
}

const writingDoors = () => doors.filter((door) => !door.shut(methods.get("UserService.CreateAccessToken") as never));

async function waiting(): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return row?.count ?? 0;
}

/** Makes a write about a user whose connection is lost while it waits; ends once the database has done it all the same. */
async function losing(door: Door, userId: string, write: Write): Promise<DoorAnswer> {
  let answer: DoorAnswer;
  {
    await using _ = await holdUser(databaseUrl, userId);
    const asked = ask(door, write);
    await eventually(async () => (await waiting()) > 0 || undefined, "a write that waits for the user");
    proxy.reset();
    answer = await asked;
  }
  await eventually(async () => (await waiting()) === 0 || undefined, "the end of the write");
  await ready();
  return answer;
}

const ready = () => eventually(async () => (await readyStatus(postern.url)) === 200 || undefined, "readiness");

const tokensOf = async (userId: string) =>
  (await sql<{ id: string }[]>`select token_id as id from access_tokens where user_id = ${userId}`).map(({ id }) => id);

const hasRetryInfo = ({ details }: DoorAnswer) => JSON.stringify(details).includes("google.rpc.RetryInfo");
const kindOf = (answer: DoorAnswer) => [answer.code, answer.reason, hasRetryInfo(answer)];

test("a write without a key that may have happened is UNKNOWN, so that no client repeats it by itself", async () => {
  for (const door of writingDoors()) {
    const { userId } = await machine(postern);
    const before = await tokensOf(userId);
    const answer = await losing(door, userId, { rpc: "UserService.CreateAccessToken", request: { userId } });
    expect(kindOf(answer), door.name).toEqual(["Unknown", "OUTCOME_UNKNOWN", false]);
    await expect.poll(async () => (await tokensOf(userId)).length, { message: door.name }).toBe(before.length + 1);
  }
});

test("a write with a key that may have happened is UNAVAILABLE, and its repetition has no second effect", async () => {
  for (const door of writingDoors()) {
    const { userId } = await machine(postern);
    const before = await tokensOf(userId);
    const write = { rpc: "UserService.CreateAccessToken", request: { userId }, key: `key-of-${userId}` };
    expect(kindOf(await losing(door, userId, write)), door.name).toEqual([
      ...["Unavailable", "OUTCOME_UNKNOWN_WITH_KEY", true],
    ]);
    const again = await ask(door, write);
    const { tokenId } = again.body as { tokenId: string };
    expect([again.code, (await tokensOf(userId)).toSorted()], door.name).toEqual(["OK", [...before, tokenId].sort()]);
  }
});

test("a write of which nothing was sent is UNAVAILABLE, with and without a key", async () => {
  const { userId } = await machine(postern);
  const before = await tokensOf(userId);
  proxy.fail({ refuse: true });
  proxy.reset();
  for (const door of writingDoors()) {
    for (const key of [undefined, `key-of-${door.name.replaceAll(" ", "-")}`]) {
      const write = { rpc: "UserService.CreateAccessToken", request: { userId }, ...(key ? { key } : {}) };
      expect(kindOf(await ask(door, write)), door.name).toEqual(["Unavailable", "UNAVAILABLE", true]);
    }
  }
  proxy.fail({});
  await ready();
  expect(await tokensOf(userId)).toEqual(before);
});

test("a sign-in takes no key, so one that wrote its session and failed then is UNKNOWN", async () => {
  for (const door of writingDoors()) {
    const { username, password, userId } = await signedUp(postern);
    const before = await sessionsOf(userId);
    // New connections are sent the text of each statement once more.
    proxy.reset();
    await ready();
    // This statement follows the one that writes the session: it checks that the password is still the user's.
    proxy.fail({ resetAt: (message) => message.includes("from users u left join passwords p using (user_id)") });
    const request = { loginName: username, password };
    const answer = await ask(door, { rpc: "SessionService.CreateSession", request, key: "ignored" });
    proxy.fail({});
    expect(kindOf(answer), door.name).toEqual(["Unknown", "OUTCOME_UNKNOWN", false]);
    expect(await sessionsOf(userId), door.name).toBe(before + 1);
    await ready();
  }
});

async function sessionsOf(userId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from sessions where user_id = ${userId}`;
  return row?.count ?? 0;
}
