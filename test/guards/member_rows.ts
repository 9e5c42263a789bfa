import type { Row } from "./matrix_rows.ts";

/** The rows of rpcs about members, and about the roles that organizations gave a user. */
export const memberRows: Readonly<Record<string, Row>> = {
  "MemberService.AddMember": {
    needs: "member.write",
    decides: "organization",
    reaches: "project",
    freshSignIn: "or a token",
    request: async (f) => ({ userId: await f.newUser(), roles: [f.projectRole], projectId: f.projectId, ...f.grant }),
  },
  "MemberService.ChangeMember": {
    needs: "member.write",
    decides: "organization",
    reaches: "project",
    freshSignIn: "or a token",
    request: async (f) => ({ userId: await f.newMember(), roles: [f.projectRole], projectId: f.projectId, ...f.grant }),
  },
  "MemberService.ListMembers": {
    needs: "member.read",
    decides: "organization",
    reaches: "project",
    request: (f) => ({ projectId: f.projectId, ...f.grant }),
  },
  "MemberService.ListRoles": { needs: "caller", decides: "nobody", request: () => ({}) },
  "MemberService.RemoveMember": {
    needs: "member.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userId: await f.newMember(), projectId: f.projectId, ...f.grant }),
  },
  "UserRoleService.ListUserRoles": { needs: "user.read", decides: "user", request: ({ userId }) => ({ userId }) },
  "UserRoleService.ListEndedUserRoles": { needs: "user.read", decides: "user", request: ({ userId }) => ({ userId }) },
  "UserRoleService.EndUserRoles": { needs: "user.write", decides: "user", request: (f) => f.newGiver() },
  "UserRoleService.AllowUserRoles": { needs: "user.write", decides: "user", request: (f) => f.newEndedGiver() },
};
