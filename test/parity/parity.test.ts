import { type DescMethod, type DescService, getOption } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../gen/postern/v1/application_pb.ts";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { MemberService } from "../../gen/postern/v1/member_pb.ts";
import { OrganizationService } from "../../gen/postern/v1/organization_pb.ts";
import { PolicyService } from "../../gen/postern/v1/policy_pb.ts";
import { ProjectService } from "../../gen/postern/v1/project_pb.ts";
import { SessionService } from "../../gen/postern/v1/session_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { reasons } from "../../src/errors.ts";
import { type Postern, startPostern } from "../harness.ts";
import { type Door, openDoors, type Told } from "./doors.ts";
import { normalised } from "./plain.ts";
import { applicationScenes } from "./scenes_application.ts";
import { everyScenes } from "./scenes_every.ts";
import { grantScenes } from "./scenes_grant.ts";
import { passwordScenes } from "./scenes_password.ts";
import { phoneScenes } from "./scenes_phone.ts";
import { refusedScenes } from "./scenes_refused.ts";
import { limits, type Scene, type Stage, stageOf, within } from "./stage.ts";

const services: readonly DescService[] = [
  ...[AccountService, ApplicationService, EventService, MemberService, OrganizationService],
  ...[PolicyService, ProjectService, SessionService, UserService, UserGrantService],
];
const methods: ReadonlyMap<string, DescMethod> = new Map(
  services.flatMap((service) => service.methods.map((method) => [`${service.name}.${method.name}`, method] as const)),
);
const scenes = [
  ...[passwordScenes, phoneScenes, applicationScenes, grantScenes, everyScenes, refusedScenes].flat(),
].map((scene) => ({ ...scene, title: `${scene.rpc}: ${scene.name}` }));

const kindOf = ({ name, format }: Door) => (name.startsWith("REST") ? "rest" : format);

/** Why a scene is not played at a door. */
function shut(door: Door, { not = {} }: Scene, method: DescMethod): string | undefined {
  return not[kindOf(door)] ?? not[door.format] ?? door.shut(method);
}

type Played = { readonly told: Told; readonly seen: unknown };

async function play(
  door: Door,
  { given }: Scene,
  { stage, method }: { stage: Stage; method: DescMethod },
): Promise<Played> {
  const {
    request,
    by = stage.admin,
    headers = within(stage.fixture.organizationId),
    raw,
    ...then
  } = await given(stage);
  const token = by.token ? { authorization: `Bearer ${by.token}` } : {};
  const told = await door.ask({ method, request, raw, headers: { ...headers, ...token } });
  if (then.answer !== undefined) expect(told.body).toEqual(then.answer);
  return { told, seen: await then.see?.() };
}

test("every rpc has a scene that is answered and one that is refused", () => {
  const answered = new Set(scenes.filter(({ says }) => says === "OK").map(({ rpc }) => rpc));
  const refused = new Set(scenes.filter(({ says }) => says !== "OK").map(({ rpc }) => rpc));
  const unary = [...methods].filter(([, { methodKind }]) => methodKind === "unary").map(([name]) => name);
  expect([...answered].sort()).toEqual(unary.sort());
  expect([...refused].sort()).toEqual(unary.sort());
  expect(unary.every((name) => getOption(methods.get(name) as DescMethod, http).pattern.case)).toBe(true);
});

describe.each(["on", "off"] as const)("with the lane %s", (lane) => {
  let postern: Postern;
  let stage: Stage;
  let doors: ReturnType<typeof openDoors>;

  beforeAll(async () => {
    postern = await startPostern({ ...limits, lane });
    stage = await stageOf(postern);
    doors = openDoors(postern.url);
  });
  afterAll(async () => {
    doors?.[Symbol.dispose]();
    await postern?.[Symbol.asyncDispose]();
  });

  test.each(scenes)("$title", async (scene) => {
    const method = methods.get(scene.rpc) as DescMethod;
    const open = doors.all.filter((door) => shut(door, scene, method) === undefined);
    let first: { told: unknown; seen: unknown } | undefined;
    for (const door of open) {
      const { told, seen } = await play(door, scene, { stage, method });
      const at = `${door.name} ${JSON.stringify(told)}`;
      expect([told.code, told.reason], at).toEqual(
        scene.says === "OK" ? ["OK", undefined] : [Code[reasons[scene.says]], scene.says],
      );
      if (scene.fields)
        expect(told.violations.map((one) => one.split(" ")[0]).sort(), at).toEqual([...scene.fields].sort());
      const alike = { told: normalised(told), seen: normalised(seen) };
      first ??= alike;
      expect(alike, at).toEqual(first);
    }
  });
});
