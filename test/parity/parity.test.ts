// A scene is one call with the answer that it has to get; the stage is a server with the organization, users and projects that
// scenes need. A door is one way to make a call (protocol, format, version of HTTP): each scene is played at every door where it
// can be, and all answers must be equal once identifiers and times are replaced.

import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { type Postern, startPostern } from "../harness.ts";
import { openDoors } from "./doors.ts";
import { methods, playEverywhere } from "./play.ts";
import { scenes } from "./scenes.ts";
import { limits, type Stage, stageOf } from "./stage.ts";

test("every rpc has a scene that is answered and one that is refused", () => {
  const answered = new Set(scenes.flatMap(([, { rpc, says }]) => (says === "OK" ? [rpc] : [])));
  const refused = new Set(scenes.flatMap(([, { rpc, says }]) => (says === "OK" ? [] : [rpc])));
  const unary = [...methods].filter(([, { methodKind }]) => methodKind === "unary").map(([name]) => name);
  expect([...answered].sort()).toEqual(unary.sort());
  expect([...refused].sort()).toEqual(unary.sort());
  expect(unary.every((name) => getOption(methods.get(name) as DescMethod, http).pattern.case)).toBe(true);
});

let postern: Postern;
let stage: Stage;
let doors: ReturnType<typeof openDoors>;

beforeAll(async () => {
  postern = await startPostern(limits);
  stage = await stageOf(postern);
  doors = openDoors(postern.url);
});
afterAll(async () => {
  doors?.[Symbol.dispose]();
  await postern?.[Symbol.asyncDispose]();
});

test.each(scenes)("%s", (_title, scene) => playEverywhere(scene, doors.all, stage));
