import { afterAll, beforeAll, test } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import { openDoors } from "./doors.ts";
import { playEverywhere } from "./play.ts";
import { scenes } from "./scenes.ts";
import { limits, type Stage, stageOf } from "./stage.ts";

let postern: Postern;
let stage: Stage;
let doors: ReturnType<typeof openDoors>;

beforeAll(async () => {
  postern = await startPostern({ ...limits, http2: "node" });
  stage = await stageOf(postern);
  doors = openDoors(postern.url);
});
afterAll(async () => {
  doors?.[Symbol.dispose]();
  await postern?.[Symbol.asyncDispose]();
});

test.each(scenes)("by Node's HTTP/2: %s", (_title, scene) => {
  const http2 = doors.all.filter(({ name }) => !name.endsWith("HTTP/1.1"));
  return playEverywhere(scene, http2, stage);
});
