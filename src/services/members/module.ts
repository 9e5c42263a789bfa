import { MemberService } from "../../../gen/postern/v1/member_pb.ts";
import { UserRoleService } from "../../../gen/postern/v1/user_role_pb.ts";
import type { Deps } from "../../deps.ts";
import { serving } from "../module.ts";
import { memberFolds, memberRules, memberService } from "./member.ts";
import { userRoleLateRules, userRoleRules, userRoleService } from "./user_role.ts";

type Parts = { readonly deps: Deps };

/** Members and their roles on objects, and all roles of a user, whichever organization gave them. */
export const members = {
  serves: [
    serving(MemberService, ({ deps }: Parts) => memberService(deps)),
    serving(UserRoleService, ({ deps }: Parts) => userRoleService(deps)),
  ],
  folds: { member: memberFolds },
  rules: () => [...memberRules, ...userRoleRules],
  lateRules: () => userRoleLateRules,
};
