import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { file_postern_v1_account } from "../../gen/postern/v1/account_pb.ts";
import { file_postern_v1_application } from "../../gen/postern/v1/application_pb.ts";
import { file_postern_v1_event } from "../../gen/postern/v1/event_pb.ts";
import { file_postern_v1_member } from "../../gen/postern/v1/member_pb.ts";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { file_postern_v1_organization } from "../../gen/postern/v1/organization_pb.ts";
import { file_postern_v1_policy } from "../../gen/postern/v1/policy_pb.ts";
import { file_postern_v1_project } from "../../gen/postern/v1/project_pb.ts";
import { file_postern_v1_session } from "../../gen/postern/v1/session_pb.ts";
import { file_postern_v1_user_grant } from "../../gen/postern/v1/user_grant_pb.ts";
import { file_postern_v1_user } from "../../gen/postern/v1/user_pb.ts";
import { type Client, type Postern, signedUp } from "../harness.ts";
import type { Fixture } from "./matrix_fixture.ts";
import { type Row, rows } from "./matrix_rows.ts";

const files = [
  ...[file_postern_v1_account, file_postern_v1_application, file_postern_v1_event, file_postern_v1_member],
  ...[file_postern_v1_organization, file_postern_v1_policy, file_postern_v1_project, file_postern_v1_session],
  ...[file_postern_v1_user, file_postern_v1_user_grant],
];

/** Every write that takes an idempotency key, by its name. */
export const keyedWrites: readonly { readonly name: string; readonly method: DescMethod }[] = files
  .flatMap(({ services }) => services.flatMap((service) => service.methods as DescMethod[]))
  .filter(({ idempotency }) => idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS)
  .filter((method) => getOption(method, access).who.case !== "anyone")
  .map((method) => ({ name: `${method.parent.name}.${method.name}`, method }));

const changesNothing = ["UserService.ReactivateUser", "UserService.UnlockUser", "MemberService.ChangeMember"];

/** How many events a write of its row appends. */
export const eventsOf = (name: string): number => (changesNothing.includes(name) ? 0 : 1);

type Request = Readonly<Record<string, unknown>>;

/** A caller, and a request of its that is granted. */
export type Granted = { readonly client: Client; readonly request: Request };

/** Makes requests that are granted, each about something new. */
export function grantedWrites(postern: Postern, target: Fixture): (name: string) => Promise<Granted> {
  let asked = 0;
  const asAdmin = (request: Request) => ({ client: postern.admin, request });
  return async (name) => {
    if (name === "AccountService.ChangePassword") {
      const { client, password } = await signedUp(postern);
      return { client, request: { oldPassword: password, newPassword: "Green-Teapot-77" } };
    }
    const limit = ++asked + 10;
    if (name === "PolicyService.SetPasswordPolicy") return asAdmin({ policy: { minimumLength: 1 + (limit % 14) } });
    if (name === "PolicyService.SetLockoutPolicy") return asAdmin({ policy: { maximumAttempts: limit } });
    return asAdmin(await (rows[name] as Row).request(target));
  };
}

/** What to change in a request where another name would not do. */
const others: Readonly<Record<string, Request>> = {
  "AccountService.ChangePassword": { newPassword: "Brown-Saucer-88" },
  "UserService.ChangePhone": { phone: "+41446681801" },
  "UserService.ResendPhoneCode": { returnCode: undefined },
  "UserService.CreateAccessToken": { expirationDate: "2999-01-01T00:00:00Z" },
  "ApplicationService.RotateClientSecret": { overlap: "60s" },
  "UserGrantService.AddUserGrant": { roleKeys: [] },
  "UserGrantService.AddUserGrants": { allOrNothing: true },
  "UserGrantService.ChangeUserGrant": { roleKeys: ["viewer"] },
  "PolicyService.SetPasswordPolicy": { policy: { minimumLength: 20 } },
  "PolicyService.SetLockoutPolicy": { policy: { maximumAttempts: 9 } },
  "MemberService.AddMember": { roles: ["PROJECT_OWNER"], projectId: "", projectGrantId: "another" },
};

/** The same request about something else where an rpc has nothing but a name. */
export function different(name: string, request: Request): Request {
  const known = others[name];
  if (known) return { ...request, ...known };
  const field = ["name", "key", "username", "newPassword", "sessionId", "tokenId", "roleKey", "projectGrantId"].find(
    (one) => one in request,
  );
  const only = field ?? ["appId", "userGrantId", "userId", "projectId"].find((one) => one in request) ?? "";
  return { ...request, [only]: `${request[only]}x` };
}
