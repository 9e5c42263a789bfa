import { commonRole } from "./skewed.ts";

type HeavyCall = { readonly operationId: string; readonly request: Readonly<Record<string, unknown>> };

const hundred = Array.from({ length: 100 }, (_, n) => n);
const action = { name: commonRole };
const resource = { type: "project", id: "p1" };
const user = (id: string) => ({ type: "user", id });

/**
 * Calls about what an instance was filled with, in its largest organization: users among all of them, a hundred things at once, the user
 * with the many grants, and the role that a fifth of all hold. What they end comes last.
 */
export const heavyCalls: readonly HeavyCall[] = [
  { operationId: "AuthorizationService_Evaluate", request: { subject: user("u1"), action, resource } },
  {
    operationId: "AuthorizationService_EvaluateMany",
    request: { action, resource, evaluations: hundred.map((n) => ({ subject: user(`u${7 * n + 1}`) })) },
  },
  { operationId: "NameService_GetNames", request: { ids: hundred.map((n) => `u${7 * n + 1}`) } },
  { operationId: "UserService_FindUser", request: { loginName: "user1", projectId: "p1" } },
  {
    operationId: "ExplanationService_ExplainDecision",
    request: { userId: "u1", projectId: "p1", roleKey: commonRole },
  },
  { operationId: "UserService_GetUser", request: { userId: "u1" } },
  { operationId: "UserService_GetUserByLoginName", request: { loginName: "user1" } },
  { operationId: "UserService_GetUserMetadata", request: { userId: "u1" } },
  {
    operationId: "UserService_SetUserMetadata",
    request: { userId: "u1", entries: [{ key: "plan", value: "gold" }, { key: "desk" }] },
  },
  {
    operationId: "UserService_CreateUsers",
    request: { items: hundred.map((n) => ({ machine: { username: `robot${n}`, name: "Robot" } })) },
  },
  { operationId: "UserService_ChangePhone", request: { userId: "u1", phone: "+41446681801", isVerified: true } },
  { operationId: "UserService_ChangeEmail", request: { userId: "u1", email: "one@example.org", isVerified: true } },
  { operationId: "UserService_ChangeUsername", request: { userId: "u1", username: "first.of.all" } },
  { operationId: "UserService_CreateAccessToken", request: { userId: "u1" } },
  { operationId: "UserService_DeactivateUser", request: { userId: "u1" } },
  { operationId: "UserService_ReactivateUser", request: { userId: "u1" } },
  { operationId: "SessionService_DeleteUserSessions", request: { userId: "u1" } },
  { operationId: "UserService_DeleteUser", request: { userId: "u1" } },
  { operationId: "ProjectService_RemoveProjectRole", request: { projectId: "p1", roleKey: commonRole } },
];
