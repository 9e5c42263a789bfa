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

/** The services of the contract, in the order in which they are documented. */
export const contract = {
  AccountService,
  MachineCredentialService,
  UserService,
  UserExportService,
  MemberService,
  UserRoleService,
  SessionService,
  FactorService,
  PolicyService,
  OrganizationService,
  DomainService,
  ProjectService,
  ApplicationService,
  UserGrantService,
  InvitationService,
  RegistrationService,
  ConsentService,
  AuthorizationService,
  EventService,
  NameService,
  DeliveryService,
  SubscriptionService,
  JobService,
  ExplanationService,
} as const;
