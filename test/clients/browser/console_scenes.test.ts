import { describe } from "vitest";
import { layouts } from "./console/layouts.ts";
import { live } from "./console/live.ts";
import { objects } from "./console/objects.ts";
import { operations } from "./console/operations.ts";
import { scenesInChromium } from "./console/scenes.ts";
import { sessions } from "./console/sessions.ts";
import { writes } from "./console/writes.ts";

scenesInChromium((stage) => {
  describe("its objects", () => objects(stage));
  describe("its sessions", () => sessions(stage));
  describe("its operations", () => operations(stage));
  describe("its pages", () => layouts(stage));
  describe("its stream", () => live(stage));
  describe("what it writes, and a server that is away", () => writes(stage));
});
