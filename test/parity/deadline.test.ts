import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { holdTable, holdUser } from "../fixture/held_row.ts";
import { type Postern, startPostern } from "../harness.ts";
import { type Door, type DoorAnswer, openDoors } from "./doors.ts";
import { methods } from "./play.ts";
import { newNumber } from "./stage.ts";

type Wait = { readonly "grpc-timeout": string; readonly "connect-timeout-ms": string };

const waits = {
  short: { "grpc-timeout": "500m", "connect-timeout-ms": "500" },
  none: { "grpc-timeout": "0n", "connect-timeout-ms": "0" },
  // Beyond what a timer can count to, which would ring at once.
  endless: { "grpc-timeout": "99999999H", "connect-timeout-ms": "9999999999" },
} satisfies Record<string, Wait>;

const wrong: readonly Wait[] = ["soon", "-1", "1e3", "1.5", ""].map((value) => ({
  "grpc-timeout": value,
  "connect-timeout-ms": value,
}));
const tooLong: Wait = { "grpc-timeout": "123456789S", "connect-timeout-ms": "12345678901" };

let postern: Postern;
let doors: ReturnType<typeof openDoors>;

beforeAll(async () => {
  postern = await startPostern({ databaseConnections: 20 });
  doors = openDoors(postern.url);
});
afterAll(async () => {
  doors?.[Symbol.dispose]();
  await postern?.[Symbol.asyncDispose]();
});

/** The same call through every door that takes it, at once. */
function askAll(rpc: string, wait: Wait, request: () => JsonObject): Promise<(readonly [Door, DoorAnswer])[]> {
  const method = methods.get(rpc);
  if (!method) throw new Error(`there is no ${rpc}`);
  const authorization = `Bearer ${postern.admin.token}`;
  const open = doors.all.filter((door) => door.shut(method) === undefined);
  const ask = async (door: Door) => {
    const headers = { authorization, [door.timeout]: wait[door.timeout] };
    return [door, await door.ask({ method, request: request(), headers })] as const;
  };
  return Promise.all(open.map(ask));
}

function expectAll(answers: readonly (readonly [Door, DoorAnswer])[], code: string, reason: string | undefined): void {
  expect(answers.length).toBeGreaterThan(10);
  for (const [door, { message, ...one }] of answers) {
    expect([one.code, one.reason], door.name).toEqual([code, reason]);
    expect({ message, details: one.details }, door.name).toEqual({
      ...{ message: answers[0]?.[1].message, details: answers[0]?.[1].details },
    });
  }
}

test("a write that waits for another is given up when its time is over", async () => {
  const { userId } = (await postern.admin.post("/v1/users/human", person())).body;
  await using _ = await holdUser(postern.databaseUrl, userId);
  const answers = await askAll("UserService.ChangePhone", waits.short, () => ({ userId, phone: newNumber() }));
  expectAll(answers, "DeadlineExceeded", "DEADLINE_EXCEEDED");
});

test("a read that waits is given up when its time is over, also one by GET", async () => {
  const { projectId } = (await postern.admin.post("/v1/projects", { name: "Held" })).body;
  await using _ = await holdTable(postern.databaseUrl, "projects");
  const answers = await askAll("ProjectService.GetProject", waits.short, () => ({ projectId }));
  expect(answers.some(([{ name }]) => name.includes("GET"))).toBe(true);
  expectAll(answers, "DeadlineExceeded", "DEADLINE_EXCEEDED");
});

test("who waits for no time at all is told that it is over", async () => {
  expectAll(await askAll("AccountService.GetMe", waits.none, () => ({})), "DeadlineExceeded", "DEADLINE_EXCEEDED");
});

test("who waits for ever is answered, within our own time", async () => {
  expectAll(await askAll("AccountService.GetMe", waits.endless, () => ({})), "OK", undefined);
});

test.each([...wrong, tooLong].map((wait) => [wait["connect-timeout-ms"], wait] as const))(
  "%j is no time to wait",
  async (_, wait) => {
    const answers = await askAll("AccountService.GetMe", wait, () => ({}));
    // Each protocol has a header of its own for this, which its refusal names.
    expectAll(
      answers.map(([door, answer]) => [door, unnamed(answer)] as const),
      "InvalidArgument",
      "MALFORMED_REQUEST",
    );
    for (const [door, { message }] of answers) expect(message, door.name).toMatch(/(grpc-timeout|connect-timeout-ms)/);
  },
);

const unnamed = (answer: DoorAnswer): DoorAnswer =>
  JSON.parse(JSON.stringify(answer).replaceAll(/grpc-timeout|connect-timeout-ms/g, "<header>"));

const person = () => ({
  username: `held-${Math.random()}`,
  givenName: "Ada",
  familyName: "Byron",
  email: "a@example.com",
});
