import type { DescMethod } from "@bufbuild/protobuf";
import { file_postern_v1_account } from "../../gen/postern/v1/account_pb.ts";
import { file_postern_v1_application } from "../../gen/postern/v1/application_pb.ts";
import { file_postern_v1_authorization } from "../../gen/postern/v1/authorization_pb.ts";
import { file_postern_v1_consent } from "../../gen/postern/v1/consent_pb.ts";
import { file_postern_v1_event } from "../../gen/postern/v1/event_pb.ts";
import { file_postern_v1_factor } from "../../gen/postern/v1/factor_pb.ts";
import { file_postern_v1_member } from "../../gen/postern/v1/member_pb.ts";
import { file_postern_v1_organization } from "../../gen/postern/v1/organization_pb.ts";
import { file_postern_v1_policy } from "../../gen/postern/v1/policy_pb.ts";
import { file_postern_v1_project } from "../../gen/postern/v1/project_pb.ts";
import { file_postern_v1_session } from "../../gen/postern/v1/session_pb.ts";
import { file_postern_v1_user_grant } from "../../gen/postern/v1/user_grant_pb.ts";
import { file_postern_v1_user } from "../../gen/postern/v1/user_pb.ts";
import { file_postern_v1_user_role } from "../../gen/postern/v1/user_role_pb.ts";

const files = [
  ...[file_postern_v1_account, file_postern_v1_application, file_postern_v1_event, file_postern_v1_member],
  ...[file_postern_v1_organization, file_postern_v1_policy, file_postern_v1_project, file_postern_v1_session],
  ...[file_postern_v1_user, file_postern_v1_user_grant, file_postern_v1_authorization, file_postern_v1_factor],
  ...[file_postern_v1_consent, file_postern_v1_user_role],
];
/** Every rpc of ours. */
export const methods: readonly DescMethod[] = files.flatMap(({ services }) =>
  services.flatMap((service) => service.methods),
);

/** An rpc as `Service.Rpc`. */
export const nameOf = (method: DescMethod) => `${method.parent.name}.${method.name}`;
