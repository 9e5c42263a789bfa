import { randomBytes } from "node:crypto";
import type { Reason } from "../../src/reasons.ts";
import { newJwk } from "../fixture/jwk.ts";
import type { Fixture } from "../fixture/organization.ts";
import { apiApplicationRows } from "./api_application_rows.ts";
import { brandingRows } from "./branding_rows.ts";
import { consentRows } from "./consent_rows.ts";
import { deliveryRows } from "./delivery_rows.ts";
import { domainRows } from "./domain_rows.ts";
import { explanationRows } from "./explanation_rows.ts";
import { factorRows } from "./factor_rows.ts";
import { invitationRows } from "./invitation_rows.ts";
import { memberRows } from "./member_rows.ts";
import { nameRows } from "./name_rows.ts";
import { organizationRows } from "./organization_rows.ts";
import { policyRows } from "./policy_rows.ts";
import { subscriptionRows } from "./subscription_rows.ts";
import { userGrantRows } from "./user_grant_rows.ts";

// Two statements of the same truth meet in matrix.test.ts. The server runs on the option `access` of each rpc in proto/postern/v1
// and on the roles in src/guards/permissions.ts. This table states the requirement of each operation by itself, with the roles as
// docs/api.md lists them, and reads neither. An rpc without a row, and a row without an rpc, fail. Where the two differ, decide by
// the purpose of the operation which one is wrong, and never copy the one into the other.

/** The decision on who may call an rpc, independent of the code that is tested. */
export type Row = {
  /** The permission; `anyone` needs no token, `caller` any valid one. */
  readonly needs: string;
  /** Other permissions, any one of which is enough. */
  readonly instead?: readonly string[];
  /** `instance`, the organization worked in, the organization of the user that is named, or the project in question. */
  readonly decides: "nobody" | "instance" | "organization" | "user" | "project";
  /** The answer to a caller without a token, where anyone may call. */
  readonly unknownCaller?: { readonly status: number; readonly reason?: Reason };
  /** The reach of a role on a project, or on a project grant: the named object, the entries that the list shows, or what its holder began. */
  readonly reaches?: "project" | "list" | "own";
  /** Whether the request names no object, so that out of reach is 403 and never 404. */
  readonly objectless?: true;
  /** The object is the organization itself: without a header it is the one worked in. */
  readonly ownPlace?: true;
  /** In their own organization callers need no permission. */
  readonly ownOrganization?: true;
  /** Of people who call about themselves it needs a fresh sign-in; a personal access token is none, but may stand in for one. */
  readonly freshSignIn?: true | "or a token";
  readonly request: (
    fixture: Fixture,
  ) => Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
};

const fresh = (what: string) => `${what} ${randomBytes(6).toString("hex")}`;
const human = () => ({
  username: fresh("u").replace(" ", "-"),
  ...{ givenName: "Ada", familyName: "Byron", email: "ada@example.com" },
  totpSecret: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
});

/** Whether the user may act as a viewer in the project: for a project that was granted, by the organization that it was granted to. */
const questionIn = ({ userId: id, projectId, grant, organizationId }: Fixture) => ({
  subject: { type: "user", id },
  action: { name: "viewer" },
  resource: { type: "project", id: projectId, ...(grant.projectGrantId && { properties: { organizationId } }) },
});

const jobOf = async ({ newJob }: Fixture) => ({ jobId: await newJob() });

/** One row for each rpc. Requests of writes make what they need anew, because an allowed one has its effect. */
export const rows: Readonly<Record<string, Row>> = {
  "AccountService.GetMe": { needs: "caller", decides: "nobody", request: () => ({}) },
  "AccountService.ChangePassword": {
    needs: "caller",
    decides: "nobody",
    request: () => ({ oldPassword: "not the one", newPassword: "Green-Teapot-77" }),
  },
  "AccountService.EraseMe": { needs: "caller", decides: "nobody", freshSignIn: true, request: () => ({}) },
  "AccountService.RequestPasswordReset": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 200 },
    request: () => ({ loginName: "nobody" }),
  },
  "AccountService.ResetPassword": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 400, reason: "CODE_INVALID" },
    request: () => ({ verificationCode: "not one", newPassword: "Green-Teapot-77" }),
  },
  "RegistrationService.RequestRegistration": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 400, reason: "REGISTRATION_CLOSED" },
    request: ({ organizationId }) => ({ organizationId, email: "newcomer@example.com" }),
  },
  "RegistrationService.CompleteRegistration": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 400, reason: "CODE_INVALID" },
    request: () => ({ code: "not one", givenName: "Ada", familyName: "Byron", password: "Green-Teapot-77" }),
  },
  "AuthorizationService.Evaluate": { needs: "authorization.evaluate", decides: "project", request: questionIn },
  "AuthorizationService.EvaluateMany": {
    needs: "authorization.evaluate",
    decides: "project",
    request: (f) => ({ evaluations: [questionIn(f), questionIn(f)] }),
  },
  "AuthorizationService.GetConfiguration": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 200 },
    request: () => ({}),
  },
  "SessionService.CreateSession": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 401, reason: "SIGN_IN_FAILED" },
    // After ten failures a name has to wait.
    request: () => ({ loginName: fresh("nobody"), password: "wrong" }),
  },
  "SessionService.ListSessions": { needs: "user.write", decides: "user", request: ({ userId }) => ({ userId }) },
  "SessionService.DeleteUserSessions": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser() }),
  },
  "SessionService.DeleteSession": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ sessionId: await f.newSession() }),
  },
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
  "UserService.GetUserMetadata": {
    needs: "user.metadata.read",
    decides: "user",
    request: ({ userId }) => ({ userId }),
  },
  "UserService.SetUserMetadata": {
    needs: "user.metadata.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser(), entries: [{ key: "plan", value: "gold" }] }),
  },
  "UserService.GetUserByLoginName": {
    needs: "user.read",
    decides: "user",
    request: ({ loginName }) => ({ loginName }),
  },
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
  "UserService.ChangeEmail": {
    needs: "user.write",
    decides: "user",
    freshSignIn: true,
    request: async (f) => ({ userId: await f.newUser(), email: "ada@example.org", returnCode: {} }),
  },
  "UserService.VerifyEmail": {
    needs: "user.write",
    decides: "user",
    request: async (f) => {
      const { userId, code } = await f.newEmail();
      return { userId, verificationCode: code };
    },
  },
  "UserService.ResendEmailCode": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: (await f.newEmail()).userId, returnCode: {} }),
  },
  "UserService.InviteUser": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser(), returnCode: {} }),
  },
  "UserService.SetPassword": {
    freshSignIn: "or a token",
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
  "UserService.EraseUser": {
    needs: "user.erase",
    decides: "user",
    freshSignIn: true,
    request: async (f) => ({ userId: await f.newUser() }),
  },
  "UserService.RestoreUser": {
    needs: "user.erase",
    decides: "user",
    freshSignIn: true,
    request: async (f) => ({ userId: await f.newErased() }),
  },
  "UserExportService.ExportUser": { needs: "user.export", decides: "user", request: ({ userId }) => ({ userId }) },
  "UserService.UpdateHumanUser": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser(), human: { givenName: "Augusta" } }),
  },
  "UserService.UpdateMachineUser": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: (await f.newToken()).userId, machine: { name: "Engine" } }),
  },
  "UserService.ChangeUsername": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newUser(), username: fresh("u").replace(" ", "-") }),
  },
  "UserService.CreateAccessToken": {
    needs: "user.write",
    decides: "user",
    freshSignIn: true,
    request: async (f) => ({ userId: await f.newUser() }),
  },
  "UserService.ListAccessTokens": { needs: "user.write", decides: "user", request: ({ userId }) => ({ userId }) },
  "UserService.RevokeAccessToken": { needs: "user.write", decides: "user", request: async (f) => f.newToken() },
  "MachineCredentialService.CreateMachineSecret": {
    needs: "user.write",
    decides: "user",
    freshSignIn: true,
    request: async (f) => ({ userId: await f.newMachine() }),
  },
  "MachineCredentialService.AddMachineKey": {
    needs: "user.write",
    decides: "user",
    freshSignIn: true,
    request: async (f) => ({ userId: await f.newMachine(), publicKey: newJwk() }),
  },
  "MachineCredentialService.ListMachineCredentials": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ userId: await f.newMachine() }),
  },
  "MachineCredentialService.RemoveMachineCredential": {
    needs: "user.write",
    decides: "user",
    request: async (f) => f.newCredential(),
  },
  "MachineCredentialService.SetMachineDelegation": {
    needs: "app.write",
    decides: "user",
    freshSignIn: true,
    request: async (f) => ({ userId: await f.newMachine() }),
  },
  "MachineCredentialService.GetMachineDelegation": {
    needs: "app.read",
    decides: "user",
    request: async (f) => ({ userId: await f.newMachine() }),
  },
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
    freshSignIn: "or a token",
    request: async (f) => ({ projectId: await f.newProject() }),
  },
  "ProjectService.UpdateProject": {
    needs: "project.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: await f.newProject(), project: { name: fresh("project") } }),
  },
  "ProjectService.UpdateProjectRole": {
    needs: "role.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({
      projectId: f.projectId,
      roleKey: await f.newRole(),
      role: { displayName: "Somebody who looks" },
    }),
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
  "ProjectService.ChangeProjectGrant": {
    needs: "project.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, projectGrantId: await f.newProjectGrant(), roleKeys: [] }),
  },
  "ProjectService.RevokeProjectGrant": {
    needs: "project.grant.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, projectGrantId: await f.newProjectGrant() }),
  },
  "ProjectService.DeactivateProject": {
    needs: "project.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: await f.newProject() }),
  },
  "ProjectService.ReactivateProject": {
    needs: "project.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: await f.newProject() }),
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
  "ApplicationService.UpdateOidcApplication": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({
      projectId: f.projectId,
      appId: await f.newApp(),
      application: { redirectUris: ["https://app.example/cb"] },
    }),
  },
  "ApplicationService.AddApplicationKey": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, appId: await f.newApp(), publicKey: newJwk("one") }),
  },
  "ApplicationService.ListApplicationKeys": {
    needs: "app.read",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, appId: (await f.newKey()).appId }),
  },
  "ApplicationService.RemoveApplicationKey": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, ...(await f.newKey()) }),
  },
  "ApplicationService.RotateClientSecret": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    freshSignIn: "or a token",
    request: async (f) => ({ projectId: f.projectId, appId: await f.newApp() }),
  },
  "ApplicationService.DeleteApplication": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, appId: await f.newApp() }),
  },
  "ApplicationService.DeactivateApplication": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, appId: await f.newApp() }),
  },
  "ApplicationService.ReactivateApplication": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, appId: await f.newApp() }),
  },
  ...userGrantRows,
  ...memberRows,
  ...nameRows,
  ...apiApplicationRows,
  ...consentRows,
  ...explanationRows,
  ...factorRows,
  ...policyRows,
  ...brandingRows,
  ...organizationRows,
  ...subscriptionRows,
  ...deliveryRows,
  ...domainRows,
  ...invitationRows,
  "EventService.ListEvents": { needs: "event.read", decides: "organization", objectless: true, request: () => ({}) },
  "EventService.WatchEvents": { needs: "event.read", decides: "organization", objectless: true, request: () => ({}) },
  "JobService.GetJob": { needs: "project.read", decides: "organization", reaches: "own", request: jobOf },
  "JobService.ListJobs": {
    needs: "project.read",
    decides: "organization",
    objectless: true,
    reaches: "own",
    request: () => ({}),
  },
  "JobService.WaitForJob": { needs: "project.read", decides: "organization", reaches: "own", request: jobOf },
};
