// The scenes of test/parity at all doors of the gateway at once, each with a set-up of its own where a call changes something.

import { afterAll, beforeAll, test } from "vitest";
import { type AllDoors, openAllDoors } from "../../parity/all_doors.ts";
import { openTo, playAt } from "../../parity/play.ts";
import { scenes } from "../../parity/scenes.ts";

let doors: AllDoors;
beforeAll(async () => {
  doors = await openAllDoors();
});
afterAll(() => doors?.[Symbol.asyncDispose]());

test.each(scenes)("%s", (_title, scene) => playAt(openTo(scene, doors.first), scene, doors.stage));
