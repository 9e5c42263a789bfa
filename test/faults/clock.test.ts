import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientOf } from "../harness.ts";
import { type ClockStage, openClock } from "./clock.ts";
import { found } from "./programs.ts";
import { endure } from "./rounds.ts";

const hour = 3_600;
const inHours = (hours: number) => new Date(Date.now() + hours * hour * 1000).toISOString();

describe.skipIf(!found("faketime"))("a node whose clock jumps", () => {
  let stage: ClockStage;
  beforeAll(async () => {
    stage = await openClock();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test("takes a token until its time is over by the clock, and again when the clock is set back", async () => {
    const admin = clientOf(stage.url, stage.token);
    const { body: robot } = await admin.post("/v1/users/machine", { username: "robot", name: "Robot" });
    const { body } = await admin.post(`/v1/users/${robot.userId}/tokens`, { expirationDate: inHours(0.5) });
    const me = async () => (await clientOf(stage.url, body.token).get("/v1/users/me")).status;
    expect(await me()).toBe(200);
    await stage.setAhead(hour);
    expect(await me()).toBe(401);
    await stage.setAhead(-hour);
    expect(await me()).toBe(200);
    await stage.setAhead(0);
  });

  test("ends a lock early or late by the jump, and an administrator ends it at any time", async () => {
    const admin = clientOf(stage.url, stage.token);
    await admin.put("/v1/policies/lockout", { policy: { maximumAttempts: 3 } });
    const person = { username: "ada", givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
    const { body: created } = await admin.post("/v1/users/human", { ...person, password: "Blue-Kettle-42" });
    const signIn = async (password: string) =>
      (await clientOf(stage.url).post("/v1/sessions", { loginName: "ada", password })).status;
    const lock = async () => {
      for (let n = 0; n < 12; n++) await signIn("Wrong-Kettle-1");
    };
    await lock();
    expect(await signIn("Blue-Kettle-42")).not.toBe(200);
    await stage.setAhead(2 * hour);
    expect(await signIn("Blue-Kettle-42")).toBe(200);
    await lock();
    await stage.setAhead(0);
    expect(await signIn("Blue-Kettle-42")).not.toBe(200);
    expect((await admin.post(`/v1/users/${created.userId}:unlock`)).status).toBe(200);
    expect(await signIn("Blue-Kettle-42")).toBe(200);
  });

  test("loses no acknowledged write and doubles none", { timeout: 900_000 }, async () => {
    await endure(stage, { rounds: 1, projects: 10_000 });
  });
});
