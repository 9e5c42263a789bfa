import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer } from "../../src/server/server.ts";
import { type Postern, startPostern } from "../harness.ts";
import { certificateFor } from "../wire/certificate.ts";
import { openDoors } from "./doors.ts";
import { openTo, playAt } from "./play.ts";
import { scenes } from "./scenes.ts";
import { limits, type Scene, type Stage, stageOf } from "./stage.ts";

// One that is answered and one that is refused for each of the four operations, and one for who asks by GET.
const wanted = [
  "AccountService.ChangePassword: changes it",
  "AccountService.ChangePassword: every broken rule of the policy at once",
  "ApplicationService.CreateOidcApplication: every field",
  "ApplicationService.CreateOidcApplication: a name that is taken",
  "UserService.ChangePhone: a code is answered",
  "UserService.ChangePhone: of a user who does not exist",
  "UserGrantService.AddUserGrant: with a role",
  "UserGrantService.AddUserGrant: without a token",
  "AccountService.GetMe: answers",
];

function sceneNamed(title: string): Scene {
  const found = scenes.find(([one]) => one === title);
  if (!found) throw new Error(`there is no scene ${title}`);
  return found[1];
}

const stack = new AsyncDisposableStack();
let postern: Postern;
let stage: Stage;
let doors: ReturnType<typeof openDoors>;

beforeAll(async () => {
  postern = stack.use(await startPostern(limits));
  stage = await stageOf(postern);
  const { certFile: tlsCertFile, keyFile: tlsKeyFile } = stack.use(await certificateFor("localhost"));
  // Another node on the same database, since the clients of the stage trust no certificate of ours.
  const { url } = stack.use(await startServer({ ...postern.config, tlsCertFile, tlsKeyFile }));
  expect(url).toMatch(/^https:/);
  doors = stack.use(openDoors(url));
});
afterAll(() => stack.disposeAsync());

test.each(wanted)("over TLS, %s", (title) => {
  const scene = sceneNamed(title);
  return playAt(openTo(scene, doors.all), scene, stage);
});
