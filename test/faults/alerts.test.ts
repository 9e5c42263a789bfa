import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  diskScenes,
  openAlertDisk,
  openAlertProcess,
  openAlertWorkers,
  processScenes,
  workerScenes,
} from "./alert_processes.ts";
import { type AlertStage, callSome, nodeScenes, openAlertNode, type Scene } from "./alert_scenes.ts";
import { found } from "./programs.ts";
import { alertNames, firing } from "./promtool.ts";
import { type Scrape, scrape, virtualSeries } from "./virtual_series.ts";

test("every alert has a scene", () => {
  const scenes = [nodeScenes, processScenes, workerScenes, diskScenes].flat();
  expect(new Set(scenes.flatMap(({ fires }) => fires))).toEqual(new Set(alertNames()));
});

// Each asks `promtool`, a process of its own.
const polls = { interval: 300 };

/** The alerts that fire when it goes on as in these scrapes. */
const alertsOf = (scrapes: readonly Scrape[]) => firing(virtualSeries(scrapes));

/** Plays the scenes one after the other, and then waits until nothing fires any more. */
function play<Stage extends AlertStage>(
  open: () => Promise<Stage>,
  scenes: readonly Scene<Stage>[],
  { call = async () => {} }: { call?: (stage: Stage) => Promise<unknown> } = {},
): void {
  let stage: Stage;
  beforeAll(async () => {
    stage = await open();
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  const quiet = async () => {
    const before = await scrape(stage.url);
    await call(stage);
    return alertsOf([before, await scrape(stage.url)]);
  };

  const titled = scenes.map((scene) => ({ ...scene, named: scene.fires.join(", ") }));
  test.each(titled)("$state: $named", async ({ fires, enter }) => {
    await expect.poll(quiet, polls).toEqual([]);
    const passed = [await scrape(stage.url)];
    await using undo = new AsyncDisposableStack();
    await enter(stage, undo, passed);
    const alerts = async () => alertsOf([...passed, await scrape(stage.url)]);
    await expect.poll(alerts, polls).toEqual(expect.arrayContaining([...fires]));
  });
}

describe.skipIf(!found("promtool"))("alerts", () => {
  describe("of a node", () => play(openAlertNode, nodeScenes, { call: callSome }));
  describe("of a process", () => play(openAlertProcess, processScenes));
  describe("of workers", () => play(openAlertWorkers, workerScenes));
  describe.skipIf(!found("mount"))("of a disk", () => play(openAlertDisk, diskScenes));
});
