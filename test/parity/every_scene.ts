import { afterAll, beforeAll, test } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { type Postern, startPostern } from "../harness.ts";
import { type Door, type Doors, openDoors } from "./doors.ts";
import { playEverywhere } from "./play.ts";
import { scenes } from "./scenes.ts";
import { limits, type Stage, stageOf } from "./stage.ts";

/** Plays every scene at some of the doors of a server. */
export function playScenes(some: (doors: Doors) => readonly Door[], settings: Partial<Config> = {}): void {
  let postern: Postern;
  let stage: Stage;
  let doors: Doors;
  beforeAll(async () => {
    postern = await startPostern({ ...limits, ...settings });
    stage = await stageOf(postern);
    doors = openDoors(postern.url);
  });
  afterAll(async () => {
    doors?.[Symbol.dispose]();
    await postern?.[Symbol.asyncDispose]();
  });
  test.each(scenes)("%s", (_title, scene) => playEverywhere(scene, some(doors), stage));
}
