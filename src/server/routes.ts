import type { DescService } from "@bufbuild/protobuf";
import type { Routes } from "@postern/gateway";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../gen/postern/v1/application_pb.ts";
import { AuthorizationService } from "../../gen/postern/v1/authorization_pb.ts";
import { ConsentService } from "../../gen/postern/v1/consent_pb.ts";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { FactorService } from "../../gen/postern/v1/factor_pb.ts";
import { MemberService } from "../../gen/postern/v1/member_pb.ts";
import { OrganizationService } from "../../gen/postern/v1/organization_pb.ts";
import { PolicyService } from "../../gen/postern/v1/policy_pb.ts";
import { ProjectService } from "../../gen/postern/v1/project_pb.ts";
import { SessionService } from "../../gen/postern/v1/session_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { UserRoleService } from "../../gen/postern/v1/user_role_pb.ts";
import type { Config } from "../config/config.ts";
import type { Deps } from "../deps.ts";
import type { Tail } from "../events/follow.ts";
import { accountService } from "../services/account/account.ts";
import { apiApplications } from "../services/applications/api_application.ts";
import { applicationService } from "../services/applications/application.ts";
import { applicationKeys } from "../services/applications/application_key.ts";
import { applicationUpdate } from "../services/applications/update_application.ts";
import { eventService } from "../services/audit/event.ts";
import { consentService } from "../services/consents/consent.ts";
import { authorizationService } from "../services/decisions/authorization.ts";
import { factorService } from "../services/factors/factor.ts";
import { memberService } from "../services/members/member.ts";
import { userRoleService } from "../services/members/user_role.ts";
import { organizationService } from "../services/organizations/organization.ts";
import type { PasswordResets } from "../services/passwords/password_reset.ts";
import { factorPolicies } from "../services/policies/factor_policy.ts";
import { policyService } from "../services/policies/policy.ts";
import { projectService } from "../services/projects/project.ts";
import { sessionService } from "../services/sessions/session.ts";
import type { SignIns } from "../services/sessions/sign_in.ts";
import { userGrantService } from "../services/user_grants/user_grant.ts";
import { userService } from "../services/users/user.ts";

/** Every service of the contract. */
export const services: readonly DescService[] = [
  AccountService,
  ApplicationService,
  AuthorizationService,
  ConsentService,
  EventService,
  FactorService,
  MemberService,
  OrganizationService,
  PolicyService,
  ProjectService,
  SessionService,
  UserService,
  UserGrantService,
  UserRoleService,
];

type RoutesOptions = { readonly deps: Deps; readonly tail: Tail } & {
  readonly signIns: SignIns;
  readonly resets: PasswordResets;
};

/** Registers every service with its implementation, for the gateway or any other adapter of Connect. */
export const routesOf =
  ({ deps, tail, signIns, resets }: RoutesOptions, config: Config): Routes =>
  (router) => {
    router.service(AccountService, accountService(deps, resets, config));
    router.service(ApplicationService, {
      ...applicationService(deps),
      ...applicationUpdate(deps),
      ...applicationKeys(deps),
      ...apiApplications(deps),
    });
    router.service(AuthorizationService, authorizationService(deps, config));
    router.service(ConsentService, consentService(deps));
    router.service(EventService, eventService(deps, tail));
    router.service(FactorService, factorService(deps, config));
    router.service(MemberService, memberService(deps));
    router.service(OrganizationService, organizationService(deps));
    router.service(PolicyService, { ...policyService(deps), ...factorPolicies(deps) });
    router.service(ProjectService, projectService(deps));
    router.service(SessionService, sessionService(deps, { ...config, ...signIns }));
    router.service(UserService, userService(deps, config));
    router.service(UserGrantService, userGrantService(deps));
    router.service(UserRoleService, userRoleService(deps));
  };
