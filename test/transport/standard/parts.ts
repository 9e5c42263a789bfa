import type { DescService } from "@bufbuild/protobuf";
import { AccountService } from "../../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../../gen/postern/v1/application_pb.ts";
import { EventService } from "../../../gen/postern/v1/event_pb.ts";
import { MemberService } from "../../../gen/postern/v1/member_pb.ts";
import { OrganizationService } from "../../../gen/postern/v1/organization_pb.ts";
import { PolicyService } from "../../../gen/postern/v1/policy_pb.ts";
import { ProjectService } from "../../../gen/postern/v1/project_pb.ts";
import { SessionService } from "../../../gen/postern/v1/session_pb.ts";
import { UserGrantService } from "../../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type Guard, type Operations, operationTable } from "../../../packages/gateway/src/rpc/operations.ts";
import { sampleImplementation } from "../sample_door.ts";

const open: Guard = { unary: (_method, handler) => handler, stream: (_method, handler) => handler };

/** Operations of the real contract that nobody calls. */
export function silentOperations(
  services: readonly DescService[] = [EventService, MemberService, UserService],
): Operations {
  return operationTable(
    services.map((service) => sampleImplementation(service, async () => ({}))),
    open,
  );
}

/** The whole contract, called by nobody. */
export const allOperations = (): Operations =>
  silentOperations([
    AccountService,
    ApplicationService,
    EventService,
    MemberService,
    OrganizationService,
    PolicyService,
    ProjectService,
    SessionService,
    UserGrantService,
    UserService,
  ]);
