// Nobody is married to the gateway: the same routes, gate and interceptors mounted on connectNodeAdapter answer the scenes of the
// parity table alike, as far as a request is a well-formed message. Other requests are refused by their decoder.

import type { DescMethod } from "@bufbuild/protobuf";
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import { fieldsOf } from "../wire/http.ts";
import { startAdapter } from "./adapter.ts";
import { type Door, openDoors } from "./doors.ts";
import { methods, playEverywhere, shut } from "./play.ts";
import { scenes } from "./scenes.ts";
import { limits, type Scene, type Stage, stageOf } from "./stage.ts";

const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());

let postern: Postern;
let stage: Stage;
let gateway: readonly Door[];
let adapter: readonly Door[];
const requestIds: (string | undefined)[] = [];

beforeAll(async () => {
  postern = opened.use(await startPostern(limits));
  stage = await stageOf(postern);
  const logger = pino({ level: "silent" });
  const ports = opened.use(await startAdapter({ ...postern.config, databaseConnections: 8 }, logger));
  gateway = opened.use(openDoors(postern.url)).first;
  adapter = opened.use(openDoors(ports, (response) => requestIds.push(fieldsOf(response)["x-request-id"]))).first;
});

/** The doors of the adapter where a scene can be played. */
const doorsFor = (scene: Scene, method: DescMethod, doors: readonly Door[]) =>
  doors.filter(
    (door) => !door.gatewayOnly && scene.malformed?.[door.format] === undefined && !shut(door, scene, method),
  );

let played = 0;

test.each(scenes)("%s", async (_title, scene) => {
  const method = methods.get(scene.rpc) as DescMethod;
  const doors = doorsFor(scene, method, adapter);
  if (doors.length === 0) {
    expect(scene.malformed ?? scene.only).toBeDefined();
    return;
  }
  // The first door is one of the gateway, so that all others have to say the same.
  await playEverywhere(scene, [...doorsFor(scene, method, gateway).slice(0, 1), ...doors], stage);
  played += doors.length;
});

test("most scenes are well formed, and every response of the adapter names its request", () => {
  expect(played).toBeGreaterThan(3000);
  expect(requestIds.length).toBeGreaterThanOrEqual(played);
  expect(requestIds.filter((id) => !/^[0-9a-z]{24}$/.test(id ?? ""))).toEqual([]);
  expect(new Set(requestIds).size).toBe(requestIds.length);
});
