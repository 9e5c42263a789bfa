import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect } from "vitest";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../gen/postern/v1/application_pb.ts";
import { AuthorizationService } from "../../gen/postern/v1/authorization_pb.ts";
import { ConsentService } from "../../gen/postern/v1/consent_pb.ts";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { FactorService } from "../../gen/postern/v1/factor_pb.ts";
import { JobService } from "../../gen/postern/v1/job_pb.ts";
import { MemberService } from "../../gen/postern/v1/member_pb.ts";
import { OrganizationService } from "../../gen/postern/v1/organization_pb.ts";
import { PolicyService } from "../../gen/postern/v1/policy_pb.ts";
import { ProjectService } from "../../gen/postern/v1/project_pb.ts";
import { SessionService } from "../../gen/postern/v1/session_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { UserRoleService } from "../../gen/postern/v1/user_role_pb.ts";
import { reasons } from "../../src/errors.ts";
import type { Door, DoorAnswer } from "./doors.ts";
import { normalised } from "./plain.ts";
import { type Scene, type Stage, within } from "./stage.ts";

const services: readonly DescService[] = [
  ...[
    AccountService,
    ApplicationService,
    AuthorizationService,
    ConsentService,
    EventService,
    FactorService,
    JobService,
    MemberService,
    OrganizationService,
  ],
  ...[PolicyService, ProjectService, SessionService, UserService, UserGrantService, UserRoleService],
];

/** Every rpc as `Service.Rpc`. */
export const methods: ReadonlyMap<string, DescMethod> = new Map(
  services.flatMap((service) => service.methods.map((method) => [`${service.name}.${method.name}`, method] as const)),
);

const kindOf = ({ name, format }: Door) => (name.startsWith("REST") ? "rest" : format);

/** Returns the reason why a scene is not played at a door. */
export function shut(door: Door, { not = {}, only }: Scene, method: DescMethod): string | undefined {
  if (only && only !== kindOf(door)) return `only for ${only}`;
  return not[kindOf(door)] ?? not[door.format] ?? door.shut(method);
}

type Played = { readonly answer: DoorAnswer; readonly seen: unknown };

async function play(
  door: Door,
  scene: Scene,
  { stage, method }: { stage: Stage; method: DescMethod },
): Promise<Played> {
  const given = await scene.given(stage);
  const { request, by = stage.admin, headers = within(stage.fixture.organizationId), raw, packing } = given;
  const token = by.token ? { authorization: `Bearer ${by.token}` } : {};
  const answer = await door.ask({ method, request, raw, packing, headers: { ...headers, ...token } });
  if (given.answer !== undefined) expect(answer.body).toEqual(given.answer);
  return { answer, seen: await given.see?.() };
}

/** Bytes that cannot be read are those of one format: each says why in its own words. */
const comparable = (answer: DoorAnswer) =>
  answer.reason === "MALFORMED_BODY" ? { code: answer.code, reason: answer.reason } : answer;

/** Plays a scene at every door where it can be: each says what the scene says, and all say the same. */
export async function playEverywhere(scene: Scene, doors: readonly Door[], stage: Stage): Promise<void> {
  const method = methods.get(scene.rpc) as DescMethod;
  const open = doors.filter((door) => shut(door, scene, method) === undefined);
  expect(open.length).toBeGreaterThan(0);
  let first: { answer: unknown; seen: unknown } | undefined;
  for (const door of open) {
    const { answer, seen } = await play(door, scene, { stage, method });
    const at = `${door.name} ${JSON.stringify(answer)}`;
    expect([answer.code, answer.reason], at).toEqual(
      scene.says === "OK" ? ["OK", undefined] : [Code[reasons[scene.says]], scene.says],
    );
    if (scene.fields)
      expect(answer.violations.map((one) => one.split(" ")[0]).sort(), at).toEqual([...scene.fields].sort());
    const alike = { answer: normalised(comparable(answer)), seen: normalised(seen) };
    first ??= alike;
    expect(alike, at).toEqual(first);
  }
}
