// A scene is one call with the answer that it has to get; the stage is a server with the organization, users and projects that
// scenes need. A door is one way to make a call (protocol, format, version of HTTP). All answers of a scene must be equal once
// identifiers and times are replaced. Here two scenes of each rpc are played, one that is answered and one that is refused, each at one
// door, and the doors take turns; every_door.test.ts plays all scenes, at several doors each, and compares what they say.

import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { type Postern, startPostern } from "../harness.ts";
import { type Door, openDoors } from "./doors.ts";
import { methods, openTo, playAt } from "./play.ts";
import { scenes } from "./scenes.ts";
import { limits, type Scene, type Stage, stageOf } from "./stage.ts";

test("every rpc has a scene that is answered and one that is refused", () => {
  const answered = new Set(scenes.flatMap(([, { rpc, says }]) => (says === "OK" ? [rpc] : [])));
  const refused = new Set(scenes.flatMap(([, { rpc, says }]) => (says === "OK" ? [] : [rpc])));
  const unary = [...methods].filter(([, { methodKind }]) => methodKind === "unary").map(([name]) => name);
  expect([...answered].sort()).toEqual(unary.sort());
  expect([...refused].sort()).toEqual(unary.sort());
  expect(unary.every((name) => getOption(methods.get(name) as DescMethod, http).pattern.case)).toBe(true);
});

const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());

let postern: Postern;
let stage: Stage;
let doors: readonly Door[];

beforeAll(async () => {
  postern = opened.use(await startPostern(limits));
  stage = await stageOf(postern);
  doors = opened.use(openDoors(postern.url)).first;
});

/** One of the open doors. */
const inTurn = (open: readonly Door[], turn: number) => [open[turn % open.length]].filter((door) => door !== undefined);

const kindOf = ({ rpc, says }: Scene): string => `${rpc} ${says === "OK" ? "answered" : "refused"}`;
const firsts = [...Map.groupBy(scenes, ([, scene]) => kindOf(scene)).values()].flatMap((alike) => alike.slice(0, 1));
const turns = firsts.map(([title, scene], turn) => [title, scene, turn] as const);

test.each(turns)("%s", (_title, scene, turn) => playAt(inTurn(openTo(scene, doors), turn), scene, stage));
