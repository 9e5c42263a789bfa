// The scenes of parity.test.ts at every door of the gateway: each protocol in each format. What combines these with the other version of
// HTTP, with HTTP/2 by Node, and with Connect's adapter, on which the same routes, gate and interceptors are mounted so that nobody is
// married to the gateway, takes turns, since formats and versions are read apart: every scene has one of these doors, and each of them
// dozens of scenes. The adapter answers alike as far as a request is a well-formed message; others are refused by its decoder.
//
// The doors of the gateway take turns too where they would tell nothing new, or where each would need a set-up of its own: at writes, and
// at what an operation answers in the same way as in a scene before. The four operations that Postern is made for have all doors. All scenes
// at all of its doors are a long run.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type AllDoors, openAllDoors } from "./all_doors.ts";
import type { Door } from "./doors.ts";
import { isShared, openTo, playAt } from "./play.ts";
import { scenes } from "./scenes.ts";
import type { Scene } from "./stage.ts";

let doors: AllDoors;
beforeAll(async () => {
  doors = await openAllDoors();
});
afterAll(() => doors?.[Symbol.asyncDispose]());

const played = new Map<string, number>();
const timesAt = ({ name }: Door) => played.get(name) ?? 0;

/** The doors whose turn it is: those that have had the fewest scenes. */
const inTurn = (open: readonly Door[], count: number) =>
  open.toSorted((one, other) => timesAt(one) - timesAt(other)).slice(0, count);

const firsts = new Set(
  [...Map.groupBy(scenes, ([, { rpc, says }]) => `${rpc} ${says}`).values()].map(([first]) => first?.[1]),
);

const ofAllDoors = [
  "AccountService.ChangePassword",
  "ApplicationService.CreateOidcApplication",
  "UserGrantService.AddUserGrant",
  "UserService.ChangePhone",
];

/** The doors of the gateway for a scene: all of them, or REST, where each operation has a path of its own, and two others. */
function doorsOf(scene: Scene): readonly Door[] {
  const open = openTo(scene, doors.first);
  if (ofAllDoors.includes(scene.rpc) || (firsts.has(scene) && isShared(scene))) return open;
  const rest = open.filter(({ name }) => name.startsWith("REST"));
  return [
    ...rest,
    ...inTurn(
      open.filter((door) => !rest.includes(door)),
      2,
    ),
  ];
}

test.each(scenes)("%s", async (_title, scene) => {
  const open = [...doorsOf(scene), ...inTurn(openTo(scene, doors.others(scene)), 1)];
  for (const door of open) played.set(door.name, timesAt(door) + 1);
  await playAt(open, scene, doors.stage);
});

test("every door has dozens of scenes, and every response of the adapter names its request", () => {
  const { first, further, byNode, adapter, requestIds } = doors;
  const all = [...first, ...further, ...byNode, ...adapter.filter((door) => !door.gatewayOnly)];
  expect(all.filter((door) => timesAt(door) < 36).map(({ name }) => name)).toEqual([]);
  const ofAdapter = adapter.reduce((sum, door) => sum + timesAt(door), 0);
  expect(requestIds.length).toBeGreaterThanOrEqual(ofAdapter);
  expect(requestIds.filter((id) => !/^[0-9a-z]{24}$/.test(id ?? ""))).toEqual([]);
  expect(new Set(requestIds).size).toBe(requestIds.length);
});
