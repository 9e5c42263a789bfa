import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { found } from "../toolchains.ts";
import { layouts } from "./console/layouts.ts";
import { live } from "./console/live.ts";
import { objects } from "./console/objects.ts";
import { operations } from "./console/operations.ts";
import { rolesOfTheConsole } from "./console/roles.ts";
import { sessions } from "./console/sessions.ts";
import { openStage, type Stage } from "./console/stage.ts";
import { writes } from "./console/writes.ts";

// One browser and two nodes for all scenes: to start them takes longer than most scenes do.
describe.skipIf(!found("chromium"))("the console, in Chromium", { timeout: 300_000 }, () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  }, 300_000);
  afterEach(() => stage.endScene());
  afterAll(() => stage?.[Symbol.asyncDispose]());

  describe("its objects", () => objects(() => stage));
  describe("its sessions", () => sessions(() => stage));
  describe("its operations", () => operations(() => stage));
  describe("its pages", () => layouts(() => stage));
  describe("its roles", () => rolesOfTheConsole(() => stage));
  describe("its stream", () => live(() => stage));
  describe("what it writes, and a server that is away", () => writes(() => stage));
});
