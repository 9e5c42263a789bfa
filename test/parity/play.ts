import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { expect } from "vitest";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../gen/postern/v1/application_pb.ts";
import { AuthorizationService } from "../../gen/postern/v1/authorization_pb.ts";
import { ConsentService } from "../../gen/postern/v1/consent_pb.ts";
import { DeliveryService } from "../../gen/postern/v1/delivery_pb.ts";
import { DomainService } from "../../gen/postern/v1/domain_pb.ts";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { ExplanationService } from "../../gen/postern/v1/explanation_pb.ts";
import { FactorService } from "../../gen/postern/v1/factor_pb.ts";
import { InvitationService } from "../../gen/postern/v1/invitation_pb.ts";
import { JobService } from "../../gen/postern/v1/job_pb.ts";
import { MachineCredentialService } from "../../gen/postern/v1/machine_credential_pb.ts";
import { MemberService } from "../../gen/postern/v1/member_pb.ts";
import { NameService } from "../../gen/postern/v1/name_pb.ts";
import { OrganizationService } from "../../gen/postern/v1/organization_pb.ts";
import { PolicyService } from "../../gen/postern/v1/policy_pb.ts";
import { ProjectService } from "../../gen/postern/v1/project_pb.ts";
import { RegistrationService } from "../../gen/postern/v1/registration_pb.ts";
import { SessionService } from "../../gen/postern/v1/session_pb.ts";
import { SubscriptionService } from "../../gen/postern/v1/subscription_pb.ts";
import { UserExportService } from "../../gen/postern/v1/user_export_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { UserRoleService } from "../../gen/postern/v1/user_role_pb.ts";
import { reasons } from "../../src/reasons.ts";
import type { Door, DoorAnswer } from "./doors.ts";
import { normalised } from "./plain.ts";
import { type Scene, type SceneCall, type Stage, within } from "./stage.ts";

const services: readonly DescService[] = [
  ...[
    AccountService,
    ApplicationService,
    AuthorizationService,
    ConsentService,
    DeliveryService,
    DomainService,
    EventService,
    ExplanationService,
    FactorService,
    InvitationService,
    RegistrationService,
    JobService,
    MachineCredentialService,
    MemberService,
    NameService,
    OrganizationService,
  ],
  ...[
    PolicyService,
    ProjectService,
    SessionService,
    SubscriptionService,
    UserService,
    UserExportService,
    UserGrantService,
    UserRoleService,
  ],
];

/** Every rpc as `Service.Rpc`. */
export const methods: ReadonlyMap<string, DescMethod> = new Map(
  services.flatMap((service) => service.methods.map((method) => [`${service.name}.${method.name}`, method] as const)),
);

const kindOf = ({ name, format }: Door) => (name.startsWith("REST") ? "rest" : format);

/** Returns the reason why a scene is not played at a door. */
function shut(door: Door, { not = {}, only }: Scene, method: DescMethod): string | undefined {
  if (only && only !== kindOf(door)) return `only for ${only}`;
  return not[kindOf(door)] ?? not[door.format] ?? door.shut(method);
}

type Played = { readonly stage: Stage; readonly method: DescMethod };
type Answered = { readonly door: Door; readonly answer: DoorAnswer; readonly seen: unknown };

async function play(door: Door, given: SceneCall, { stage, method }: Played): Promise<Answered> {
  const { request, by = stage.admin, headers = within(stage.fixture.organizationId), raw, packing } = given;
  const token = by.token ? { authorization: `Bearer ${by.token}` } : {};
  const answer = await door.ask({ method, request, raw, packing, headers: { ...headers, ...token } });
  if (given.answer !== undefined) expect(answer.body).toEqual(given.answer);
  return { door, answer, seen: await given.see?.() };
}

/** Bytes that cannot be read are those of one format: each says why in its own words. */
const comparable = (answer: DoorAnswer) =>
  answer.reason === "MALFORMED_BODY" ? { code: answer.code, reason: answer.reason } : answer;

// These count against a user or a code, in the call or in what its scene looks at, so that the calls of all doors would be too many.
const counted: readonly Scene["says"][] = [
  "CODE_INVALID",
  "IDEMPOTENCY_KEY_REUSED",
  "PASSWORD_MISMATCH",
  "PASSWORD_REUSED",
  "SIGN_IN_FAILED",
];

/** Whether all doors can share what a scene has set up: reads and other refusals leave everything as it was. */
export function isShared({ rpc, says }: Scene): boolean {
  if (says !== "OK") return !counted.includes(says);
  return methods.get(rpc)?.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

/** The doors where a scene can be played. */
export function openTo(scene: Scene, doors: readonly Door[]): readonly Door[] {
  const method = methods.get(scene.rpc) as DescMethod;
  return doors.filter((door) => shut(door, scene, method) === undefined);
}

/** Plays a scene at doors that are open to it: each says what the scene says, and all say the same. */
export async function playAt(open: readonly Door[], scene: Scene, stage: Stage): Promise<void> {
  const method = methods.get(scene.rpc) as DescMethod;
  expect(open.length).toBeGreaterThan(0);
  const played = await (isShared(scene) ? playOnce : playEach)(open, scene, { stage, method });
  const [first] = played.map(alike);
  for (const one of played) {
    const { door, answer } = one;
    const at = `${door.name} ${JSON.stringify(answer)}`;
    expect([answer.code, answer.reason], at).toEqual(
      scene.says === "OK" ? ["OK", undefined] : [Code[reasons[scene.says]], scene.says],
    );
    if (scene.fields)
      expect(answer.violations.map((violation) => violation.split(" ")[0]).sort(), at).toEqual(
        [...scene.fields].sort(),
      );
    expect(alike(one), at).toEqual(first);
  }
}

/** Calls through all doors with one set-up; one after the other if the scene looks at the state, which may take a sign-in. */
async function playOnce(doors: readonly Door[], scene: Scene, on: Played): Promise<Answered[]> {
  const given = await scene.given(on.stage);
  return given.see
    ? inTurn(doors, (door) => play(door, given, on))
    : Promise.all(doors.map((door) => play(door, given, on)));
}

/** Calls through all doors, each with a set-up of its own. */
async function playEach(doors: readonly Door[], scene: Scene, on: Played): Promise<Answered[]> {
  const givens = await Promise.all(doors.map(() => scene.given(on.stage)));
  return Promise.all(doors.map((door, index) => play(door, givens[index] as SceneCall, on)));
}

async function inTurn(
  doors: readonly Door[],
  call: (door: Door, index: number) => Promise<Answered>,
): Promise<Answered[]> {
  const answered: Answered[] = [];
  for (const [index, door] of doors.entries()) answered.push(await call(door, index));
  return answered;
}

const alike = ({ answer, seen }: Answered) => ({ answer: normalised(comparable(answer)), seen: normalised(seen) });
