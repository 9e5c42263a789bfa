// A scene is one call with the answer that it has to get; the stage is a server with the organization, users and projects that
// scenes need. A door is one way to make a call (protocol, format, version of HTTP): each scene is played at every door where it
// can be, and all answers must be equal once identifiers and times are replaced. further_doors.test.ts has the doors that combine
// what is met here one by one.

import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { playScenes } from "./every_scene.ts";
import { methods } from "./play.ts";
import { scenes } from "./scenes.ts";

test("every rpc has a scene that is answered and one that is refused", () => {
  const answered = new Set(scenes.flatMap(([, { rpc, says }]) => (says === "OK" ? [rpc] : [])));
  const refused = new Set(scenes.flatMap(([, { rpc, says }]) => (says === "OK" ? [] : [rpc])));
  const unary = [...methods].filter(([, { methodKind }]) => methodKind === "unary").map(([name]) => name);
  expect([...answered].sort()).toEqual(unary.sort());
  expect([...refused].sort()).toEqual(unary.sort());
  expect(unary.every((name) => getOption(methods.get(name) as DescMethod, http).pattern.case)).toBe(true);
});

playScenes(({ first }) => first);
