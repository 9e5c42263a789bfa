import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "./gen/google/rpc/error_details_pb.ts";
import { AccountService } from "./gen/postern/v1/account_pb.ts";
import { ApplicationService } from "./gen/postern/v1/application_pb.ts";
import { AuthorizationService } from "./gen/postern/v1/authorization_pb.ts";
import { ConsentService } from "./gen/postern/v1/consent_pb.ts";
import { DeliveryService } from "./gen/postern/v1/delivery_pb.ts";
import { DomainService } from "./gen/postern/v1/domain_pb.ts";
import { EventService } from "./gen/postern/v1/event_pb.ts";
import { ExplanationService } from "./gen/postern/v1/explanation_pb.ts";
import { FactorService } from "./gen/postern/v1/factor_pb.ts";
import { InvitationService } from "./gen/postern/v1/invitation_pb.ts";
import { JobService } from "./gen/postern/v1/job_pb.ts";
import { MachineCredentialService } from "./gen/postern/v1/machine_credential_pb.ts";
import { MemberService } from "./gen/postern/v1/member_pb.ts";
import { NameService } from "./gen/postern/v1/name_pb.ts";
import { OrganizationService } from "./gen/postern/v1/organization_pb.ts";
import { PolicyService } from "./gen/postern/v1/policy_pb.ts";
import { ProjectService } from "./gen/postern/v1/project_pb.ts";
import { RegistrationService } from "./gen/postern/v1/registration_pb.ts";
import { SessionService } from "./gen/postern/v1/session_pb.ts";
import { SubscriptionService } from "./gen/postern/v1/subscription_pb.ts";
import { UserExportService } from "./gen/postern/v1/user_export_pb.ts";
import { UserGrantService } from "./gen/postern/v1/user_grant_pb.ts";
import { UserService } from "./gen/postern/v1/user_pb.ts";
import { UserRoleService } from "./gen/postern/v1/user_role_pb.ts";

export { type TokenProvider, withIdempotencyKeys, withRetries, withToken } from "./interceptors.ts";

/** A client of each service. */
export type Postern = ReturnType<typeof posternOf>;

/** Makes a client of each service over a transport, which should have the interceptors of this package. */
export function posternOf(transport: Transport) {
  return {
    accounts: createClient(AccountService, transport),
    applications: createClient(ApplicationService, transport),
    authorization: createClient(AuthorizationService, transport),
    consents: createClient(ConsentService, transport),
    deliveries: createClient(DeliveryService, transport),
    domains: createClient(DomainService, transport),
    events: createClient(EventService, transport),
    explanations: createClient(ExplanationService, transport),
    factors: createClient(FactorService, transport),
    invitations: createClient(InvitationService, transport),
    jobs: createClient(JobService, transport),
    machineCredentials: createClient(MachineCredentialService, transport),
    members: createClient(MemberService, transport),
    names: createClient(NameService, transport),
    organizations: createClient(OrganizationService, transport),
    policies: createClient(PolicyService, transport),
    projects: createClient(ProjectService, transport),
    registrations: createClient(RegistrationService, transport),
    sessions: createClient(SessionService, transport),
    subscriptions: createClient(SubscriptionService, transport),
    userExports: createClient(UserExportService, transport),
    userGrants: createClient(UserGrantService, transport),
    userRoles: createClient(UserRoleService, transport),
    users: createClient(UserService, transport),
  };
}

/** Returns the stable reason of a refusal, such as `USER_GRANT_EXISTS`; undefined for any other error. */
export function reasonOf(error: unknown): string | undefined {
  return ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason;
}

/** Returns the wrong fields of a refused request, each with the rule that it breaks. */
export function violationsOf(error: unknown): { field: string; reason: string; description: string }[] {
  const found = ConnectError.from(error).findDetails(BadRequestSchema);
  return found.flatMap(({ fieldViolations }) =>
    fieldViolations.map(({ field, reason, description }) => ({ field, reason, description })),
  );
}
