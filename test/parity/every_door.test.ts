// The scenes of parity.test.ts at every door: those of the gateway, of its HTTP/2 by Node, and of Connect's adapter, on which the same
// routes, gate and interceptors are mounted, so that nobody is married to the gateway. The adapter answers alike as far as a request
// is a well-formed message; others are refused by its decoder.

import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer } from "../../src/server/server.ts";
import { type Postern, startPostern } from "../harness.ts";
import { fieldsOf } from "../wire/http.ts";
import { startAdapter } from "./adapter.ts";
import { type Door, openDoors } from "./doors.ts";
import { openTo, playAt } from "./play.ts";
import { scenes } from "./scenes.ts";
import { limits, type Scene, type Stage, stageOf } from "./stage.ts";

const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());

let postern: Postern;
let stage: Stage;
let ours: readonly Door[];
let adapter: readonly Door[];
const requestIds: (string | undefined)[] = [];

beforeAll(async () => {
  postern = opened.use(await startPostern(limits));
  stage = await stageOf(postern);
  const node = opened.use(await startServer({ ...postern.config, http2: "node" }));
  const ports = opened.use(await startAdapter(postern.config, pino({ level: "silent" })));
  ours = [
    ...opened.use(openDoors(postern.url)).all,
    ...named("by Node's HTTP/2", opened.use(openDoors(node.url)).all.filter(usesHttp2)),
  ];
  const ofAdapter = opened.use(openDoors(ports, (response) => requestIds.push(fieldsOf(response)["x-request-id"])));
  adapter = named("of Connect's adapter", ofAdapter.first);
});

const named = (suffix: string, doors: readonly Door[]) =>
  doors.map((door) => ({ ...door, name: `${door.name} ${suffix}` }));

/** Whether a door is one of the ways in which protocols use HTTP/2; formats are nothing to it, and each is met once. */
const usesHttp2 = ({ name, format }: Door) =>
  name.endsWith("HTTP/2") && (format === "binary" || /^(REST|plain)/.test(name));

/** The doors of the adapter at which a scene is a well-formed message. */
const wellFormed = ({ malformed }: Scene) =>
  adapter.filter((door) => !door.gatewayOnly && malformed?.[door.format] === undefined);

let played = 0;

test.each(scenes)("%s", async (_title, scene) => {
  const open = openTo(scene, [...ours, ...wellFormed(scene)]);
  await playAt(open, scene, stage);
  played += open.filter((door) => adapter.includes(door)).length;
});

test("most scenes are well formed, and every response of the adapter names its request", () => {
  expect(played).toBeGreaterThan(3000);
  expect(requestIds.length).toBeGreaterThanOrEqual(played);
  expect(requestIds.filter((id) => !/^[0-9a-z]{24}$/.test(id ?? ""))).toEqual([]);
  expect(new Set(requestIds).size).toBe(requestIds.length);
});
