import { randomBytes } from "node:crypto";
import type { Fixture } from "../fixture/organization.ts";

// Two statements of the same truth meet in matrix.test.ts. The server runs on the option `access` of each rpc in proto/postern/v1
// and on the roles in src/guards/permissions.ts. This table states the requirement of each operation by itself, with the roles as
// the README lists them, and reads neither. An rpc without a row, and a row without an rpc, fail. Where the two differ, decide by
// the purpose of the operation which one is wrong, and never copy the one into the other.

/** The decision on who may call an rpc, independent of the code that is tested. */
export type Row = {
  /** The permission; `anyone` needs no token, `caller` any valid one. */
  readonly needs: string;
  /** `instance`, the organization worked in, or the organization of the user that is named. */
  readonly decides: "nobody" | "instance" | "organization" | "user";
  /** The reach of a role on a project, or on a project grant: the named object, or the entries that the list shows. */
  readonly reaches?: "project" | "list";
  /** Whether the request names no object, so that out of reach is 403 and never 404. */
  readonly objectless?: true;
  /** The object is the organization itself: without a header it is the one worked in. */
  readonly ownPlace?: true;
  /** In their own organization callers need no permission. */
  readonly ownOrganization?: true;
  readonly request: (
    fixture: Fixture,
  ) => Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
};

const fresh = (what: string) => `${what} ${randomBytes(6).toString("hex")}`;
const human = () => ({
  username: fresh("u").replace(" ", "-"),
  givenName: "Ada",
  familyName: "Byron",
  email: "ada@example.com",
});

/** One row for each rpc. Requests of writes make what they need anew, because an allowed one has its effect. */
export const rows: Readonly<Record<string, Row>> = {
  "AccountService.GetMe": { needs: "caller", decides: "nobody", request: () => ({}) },
  "AccountService.ChangePassword": {
    needs: "caller",
    decides: "nobody",
    request: () => ({ oldPassword: "not the one", newPassword: "Green-Teapot-77" }),
  },
  "SessionService.CreateSession": {
    needs: "anyone",
    decides: "nobody",
    request: () => ({ loginName: "nobody", password: "wrong" }),
  },
  "SessionService.ListSessions": { needs: "user.write", decides: "user", request: ({ userId }) => ({ userId }) },
  "SessionService.DeleteSession": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ sessionId: await f.newSession() }),
  },
  "OrganizationService.CreateOrganization": {
    needs: "instance.write",
    decides: "instance",
    request: () => ({ name: fresh("org") }),
  },
  "OrganizationService.GetOrganization": {
    needs: "org.read",
    decides: "organization",
    ownPlace: true,
    request: ({ organizationId }) => ({ organizationId }),
  },
  "OrganizationService.ListOrganizations": { needs: "org.read", decides: "nobody", request: () => ({}) },
  "UserService.CreateHumanUser": { needs: "user.write", decides: "organization", objectless: true, request: human },
  "UserService.CreateMachineUser": {
    needs: "user.write",
    decides: "organization",
    objectless: true,
    request: () => ({ username: fresh("m").replace(" ", "-"), name: "Robot" }),
  },
  "UserService.CreateUsers": {
    needs: "user.write",
    decides: "organization",
    objectless: true,
    request: () => ({ items: [{ human: human() }] }),
  },
  "UserService.GetUser": { needs: "user.read", decides: "user", request: ({ userId }) => ({ userId }) },
  "UserService.ListUsers": { needs: "user.read", decides: "organization", objectless: true, request: () => ({}) },
  "UserService.ChangePhone": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser(), phone: "+41446681800", returnCode: {} }),
  },
  "UserService.VerifyPhone": {
    needs: "user.write",
    decides: "user",
    request: async (f) => {
      const { userId, code } = await f.newPhone();
      return { userId, verificationCode: code };
    },
  },
  "UserService.ResendPhoneCode": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: (await f.newPhone()).userId, returnCode: {} }),
  },
  "UserService.RemovePhone": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: (await f.newPhone()).userId }),
  },
  "UserService.SetPassword": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser(), newPassword: "Green-Teapot-77" }),
  },
  "UserService.DeactivateUser": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser() }),
  },
  "UserService.ReactivateUser": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser() }),
  },
  "UserService.UnlockUser": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser() }),
  },
  "UserService.DeleteUser": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser() }),
  },
  "UserService.CreateAccessToken": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser() }),
  },
  "UserService.ListAccessTokens": { needs: "user.write", decides: "user", request: ({ userId }) => ({ userId }) },
  "UserService.RevokeAccessToken": { needs: "user.write", decides: "user", request: async (f) => f.newToken() },
  "ProjectService.CreateProject": {
    needs: "project.write",
    decides: "organization",
    objectless: true,
    request: () => ({ name: fresh("project") }),
  },
  "ProjectService.GetProject": {
    needs: "project.read",
    decides: "organization",
    reaches: "project",
    request: ({ projectId }) => ({ projectId }),
  },
  "ProjectService.ListProjects": {
    needs: "project.read",
    decides: "organization",
    reaches: "list",
    objectless: true,
    request: () => ({}),
  },
  "ProjectService.DeleteProject": {
    needs: "project.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: await f.newProject() }),
  },
  "ProjectService.AddProjectRole": {
    needs: "role.write",
    decides: "organization",
    reaches: "project",
    request: ({ projectId }) => ({ projectId, key: fresh("role").replace(" ", "-") }),
  },
  "ProjectService.ListProjectRoles": {
    needs: "project.read",
    decides: "organization",
    reaches: "project",
    request: ({ projectId }) => ({ projectId }),
  },
  "ProjectService.RemoveProjectRole": {
    needs: "role.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, roleKey: await f.newRole() }),
  },
  "ProjectService.GrantProject": {
    needs: "project.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({
      projectId: f.projectId,
      grantedOrganizationId: await f.newOrganization(),
      roleKeys: ["viewer"],
    }),
  },
  "ProjectService.ListProjectGrants": {
    needs: "project.read",
    decides: "organization",
    reaches: "project",
    request: ({ projectId }) => ({ projectId }),
  },
  "ProjectService.RevokeProjectGrant": {
    needs: "project.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, projectGrantId: await f.newProjectGrant() }),
  },
  "ApplicationService.CreateOidcApplication": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: ({ projectId }) => ({ projectId, name: fresh("app") }),
  },
  "ApplicationService.GetApplication": {
    needs: "app.read",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, appId: await f.newApp() }),
  },
  "ApplicationService.ListApplications": {
    needs: "app.read",
    decides: "organization",
    reaches: "project",
    request: ({ projectId }) => ({ projectId }),
  },
  "ApplicationService.RotateClientSecret": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, appId: await f.newApp() }),
  },
  "ApplicationService.DeleteApplication": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, appId: await f.newApp() }),
  },
  "UserGrantService.AddUserGrant": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userId: await f.newUser(), projectId: f.projectId, ...f.grant, roleKeys: ["viewer"] }),
  },
  "UserGrantService.AddUserGrants": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "list",
    objectless: true,
    request: async (f) => ({
      items: [{ userId: await f.newUser(), projectId: f.projectId, ...f.grant, roleKeys: ["viewer"] }],
    }),
  },
  "UserGrantService.GetUserGrant": {
    needs: "user.grant.read",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant() }),
  },
  "UserGrantService.ListUserGrants": {
    needs: "user.grant.read",
    decides: "organization",
    reaches: "list",
    objectless: true,
    request: () => ({}),
  },
  "UserGrantService.ChangeUserGrant": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant(), roleKeys: [] }),
  },
  "UserGrantService.RemoveUserGrant": {
    needs: "user.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userGrantId: await f.newUserGrant() }),
  },
  "MemberService.AddMember": {
    needs: "member.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userId: await f.newUser(), roles: [f.projectRole], projectId: f.projectId, ...f.grant }),
  },
  "MemberService.ChangeMember": {
    needs: "member.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userId: await f.newMember(), roles: [f.projectRole], projectId: f.projectId, ...f.grant }),
  },
  "MemberService.ListMembers": {
    needs: "member.read",
    decides: "organization",
    reaches: "project",
    request: (f) => ({ projectId: f.projectId, ...f.grant }),
  },
  "MemberService.RemoveMember": {
    needs: "member.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ userId: await f.newMember(), projectId: f.projectId, ...f.grant }),
  },
  "PolicyService.GetPasswordPolicy": {
    needs: "policy.read",
    decides: "organization",
    objectless: true,
    ownOrganization: true,
    request: () => ({}),
  },
  "PolicyService.SetPasswordPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({ policy: { minimumLength: 8, requiresUpper: true } }),
  },
  "PolicyService.GetLockoutPolicy": {
    needs: "policy.read",
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
  "PolicyService.SetLockoutPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({ policy: { maximumAttempts: 10 } }),
  },
  "EventService.ListEvents": { needs: "event.read", decides: "organization", objectless: true, request: () => ({}) },
  "EventService.WatchEvents": { needs: "event.read", decides: "organization", objectless: true, request: () => ({}) },
};

/** What a human without any role is told when it calls with `me` in place of a user's id. */
export type OwnRow = {
  readonly says: "OK" | "PERMISSION_DENIED" | "PHONE_MISSING" | "TOKEN_NOT_FOUND";
  /** What the request has beside the id. */
  readonly request?: Readonly<Record<string, string | readonly string[]>>;
};

const denied: OwnRow = { says: "PERMISSION_DENIED" };

/** One row for each rpc where `me` stands for the caller. */
export const ownRows: Readonly<Record<string, OwnRow>> = {
  "SessionService.ListSessions": { says: "OK" },
  "UserService.GetUser": { says: "OK" },
  "UserService.ChangePhone": { says: "OK", request: { phone: "+41446681800" } },
  "UserService.VerifyPhone": { says: "PHONE_MISSING", request: { verificationCode: "234567" } },
  "UserService.ResendPhoneCode": { says: "PHONE_MISSING" },
  "UserService.RemovePhone": { says: "OK" },
  "UserService.DeactivateUser": denied,
  "UserService.ReactivateUser": denied,
  "UserService.UnlockUser": denied,
  "UserService.CreateAccessToken": { says: "OK" },
  "UserService.ListAccessTokens": { says: "OK" },
  "UserService.RevokeAccessToken": { says: "TOKEN_NOT_FOUND", request: { tokenId: "none" } },
  "UserGrantService.AddUserGrant": { ...denied, request: { projectId: "none", roleKeys: ["viewer"] } },
  "UserGrantService.ListUserGrants": { says: "OK" },
  "MemberService.AddMember": { ...denied, request: { roles: ["ORG_OWNER"] } },
  "MemberService.ChangeMember": { ...denied, request: { roles: ["ORG_OWNER"] } },
  "MemberService.RemoveMember": denied,
};
