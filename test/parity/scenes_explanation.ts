import type { JsonObject } from "@bufbuild/protobuf";
import { made, person, type Scene, type Stage, within } from "./stage.ts";

const signIn = "ExplanationService.ExplainSignIn";
const decision = "ExplanationService.ExplainDecision";

/** A user of the fixture's organization with the role `viewer` in its project, and an application there. */
async function member(stage: Stage) {
  const { admin, fixture } = stage;
  const { projectId, organizationId } = fixture;
  const { userId, client } = await person(stage);
  const wanted = { projectId, roleKeys: ["viewer"] };
  await made(admin, `/v1/users/${userId}/grants`, wanted, within(organizationId));
  return { userId, client, projectId, appId: await fixture.newApp() };
}

const explains = (name: string, request: JsonObject): Scene => ({
  ...{ rpc: signIn, name, says: "OK" },
  async given(stage) {
    const { userId, projectId, appId } = await member(stage);
    return { request: { userId, projectId, appId, ...request } };
  },
});

const refuses = (name: string, fields: string[], request: JsonObject): Scene => ({
  ...{ rpc: signIn, name, says: "VALIDATION_FAILED", fields },
  async given(stage) {
    const { userId, projectId, appId } = await member(stage);
    return { request: { userId, projectId, appId, ...request } };
  },
});

const decides = (name: string, request: JsonObject): Scene => ({
  ...{ rpc: decision, name, says: "OK" },
  async given(stage) {
    const { userId, projectId } = await member(stage);
    return { request: { userId, projectId, roleKey: "viewer", ...request } };
  },
});

/** Explanations of sign-ins and of decisions. */
export const explanationScenes: readonly Scene[] = [
  explains("with every claim", { scopes: ["openid", "profile", "email", "roles"] }),
  explains("for nobody's organization", { organizationId: "none", scopes: ["openid"] }),
  explains("without scopes", {}),
  explains("of nobody", { userId: "none", scopes: ["openid"] }),
  refuses("with a space in a scope", ["scopes[0]"], { scopes: ["openid email"] }),
  refuses("with too many scopes", ["scopes"], { scopes: Array.from({ length: 21 }, (_, n) => `s${n}`) }),
  refuses("for an organization that no scope can name", ["organizationId"], { organizationId: "a b" }),
  {
    ...{ rpc: signIn, name: "at no application", says: "APPLICATION_NOT_FOUND" },
    async given(stage) {
      const { userId, projectId } = await member(stage);
      return { request: { userId, projectId, appId: "none" } };
    },
  },
  {
    ...{ rpc: signIn, name: "by a stranger", says: "PERMISSION_DENIED" },
    async given(stage) {
      const { userId, projectId, appId } = await member(stage);
      return { request: { userId, projectId, appId }, by: stage.stranger };
    },
  },
  {
    ...{ rpc: signIn, name: "without a token", says: "UNAUTHENTICATED" },
    async given(stage) {
      const { userId, projectId, appId } = await member(stage);
      return { request: { userId, projectId, appId }, by: stage.postern.as() };
    },
  },
  decides("of a role that is held", {}),
  decides("of a role that is not held", { roleKey: "editor" }),
  decides("of nobody", { userId: "none" }),
  {
    ...{ rpc: decision, name: "about oneself", says: "OK" },
    async given(stage) {
      const { client, projectId } = await member(stage);
      return { request: { userId: "me", projectId, roleKey: "viewer" }, by: client };
    },
  },
  {
    ...{ rpc: decision, name: "by a stranger", says: "PERMISSION_DENIED" },
    async given(stage) {
      const { userId, projectId } = await member(stage);
      return { request: { userId, projectId, roleKey: "viewer" }, by: stage.stranger };
    },
  },
  {
    ...{ rpc: decision, name: "without a role", says: "VALIDATION_FAILED", fields: ["roleKey"] },
    async given(stage) {
      const { userId, projectId } = await member(stage);
      return { request: { userId, projectId } };
    },
  },
];
