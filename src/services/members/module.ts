import type { Deps } from "../../deps.ts";
import { memberFolds, memberRules, memberService } from "./member.ts";
import { userRoleLateRules, userRoleRules, userRoleService } from "./user_role.ts";

type Parts = { readonly deps: Deps };

/** Members and their roles on objects, and all roles of a user, whichever organization gave them. */
export const members = {
  serves: {
    MemberService: ({ deps }: Parts) => memberService(deps),
    UserRoleService: ({ deps }: Parts) => userRoleService(deps),
  },
  folds: { member: memberFolds },
  rules: () => [...memberRules, ...userRoleRules],
  lateRules: () => userRoleLateRules,
};
