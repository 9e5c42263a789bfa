import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import { type DoorAnswer, openDoors } from "./doors.ts";
import { type Packing, packers } from "./packing.ts";
import { methods, openTo, playAt } from "./play.ts";
import { fresh, limits, made, type Scene, type Stage, stageOf, within } from "./stage.ts";

const redirectUris = Array.from({ length: 100 }, (_, index) => `https://portal.example/${index}/${"x".repeat(250)}`);
const encodings = Object.keys(packers);

/** An application whose message is large both ways. */
const creation = async ({ fixture }: Stage) => ({
  projectId: await fixture.newProject(),
  name: "Portal",
  redirectUris,
});

const creates = (name: string, says: Scene["says"], packing: Packing, more: JsonObject = {}): Scene => ({
  ...{ rpc: "ApplicationService.CreateOidcApplication", name, says },
  given: async (stage) => ({ request: { ...(await creation(stage)), ...more }, packing }),
});

const scenes: readonly Scene[] = [
  ...encodings.flatMap((request) => [
    creates(`a request in ${request}`, "OK", { request }),
    creates(`larger than a message may be, in ${request}`, "BODY_TOO_LARGE", { request }, { name: "x".repeat(1e6) }),
    creates(`bytes that are no ${request}`, "MALFORMED_BODY", { request, broken: true }),
  ]),
  ...encodings.map(
    (request): Scene => ({
      ...{ rpc: "SessionService.CreateSession", name: `a sign-in in ${request}` },
      says: request === "gzip" ? "SIGN_IN_FAILED" : "UNSUPPORTED_ENCODING",
      given: async () => ({
        request: { loginName: fresh("nobody"), password: "Blue-Kettle-42" },
        packing: { request },
      }),
    }),
  ),
  creates("a request in an encoding that nobody knows", "UNSUPPORTED_ENCODING", { request: "lzma" }),
  creates("a request that says that it is as it is", "OK", { request: "identity" }),
];

let postern: Postern;
let stage: Stage;
let doors: ReturnType<typeof openDoors>;
let reading: JsonObject;

beforeAll(async () => {
  postern = await startPostern(limits);
  stage = await stageOf(postern);
  doors = openDoors(postern.url);
  const { projectId, ...app } = await creation(stage);
  const { organizationId } = stage.fixture;
  const path = `/v1/projects/${projectId}/applications/oidc`;
  reading = { projectId, appId: (await made(stage.admin, path, app, within(organizationId))).appId };
});
afterAll(async () => {
  doors?.[Symbol.dispose]();
  await postern?.[Symbol.asyncDispose]();
});

test.each(scenes.map((scene) => [scene.name, scene] as const))("%s", async (_, scene) => {
  await playAt(openTo(scene, doors.all), scene, stage);
});

/** Reads the application through every door. */
async function readAll(packing: Packing): Promise<(readonly [door: string, answer: DoorAnswer])[]> {
  const method = methods.get("ApplicationService.GetApplication");
  if (!method) throw new Error("there is no such rpc");
  const headers = { ...within(stage.fixture.organizationId), authorization: `Bearer ${stage.admin.token}` };
  const ask = { method, request: reading, headers };
  return Promise.all(doors.all.map(async (door) => [door.name, await door.ask({ ...ask, packing })] as const));
}

test.each([
  ...encodings.map((one) => [one, one] as const),
  ["identity", undefined],
  ["snappy", undefined],
  ["snappy, zstd, gzip", "zstd"],
  ["br, identity", "br"],
] as const)("an answer to who accepts %s", async (accept, encoding) => {
  const [first] = await readAll({});
  for (const [door, answer] of await readAll({ accept })) {
    expect([answer.code, answer.encoding], door).toEqual(["OK", encoding]);
    expect(answer.body, door).toEqual(first?.[1].body);
  }
});

test.each(encodings)("a read in %s, also where it is in the query", async (request) => {
  const [first] = await readAll({});
  for (const [door, answer] of await readAll({ request }))
    expect([answer.code, answer.body], door).toEqual(["OK", first?.[1].body]);
});

test("a small answer is sent as it is", async () => {
  const method = methods.get("ProjectService.CreateProject");
  if (!method) throw new Error("there is no such rpc");
  const headers = { authorization: `Bearer ${stage.admin.token}` };
  for (const door of doors.all.filter((one) => one.shut(method) === undefined)) {
    const answer = await door.ask({ method, headers, request: { name: fresh("p") }, packing: { accept: "gzip" } });
    expect([answer.code, answer.encoding], door.name).toEqual(["OK", undefined]);
  }
});
