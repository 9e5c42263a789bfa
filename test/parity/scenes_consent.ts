import { connected } from "../fixture/connection.ts";
import { made, person, type Scene, type Stage } from "./stage.ts";

const list = "ConsentService.ListConnectedApplications";
const disconnect = "ConsentService.DisconnectApplication";

/** A person of the fixture's organization who is connected to an application of another one. */
const connection = ({ postern, fixture: { organizationId } }: Stage) =>
  connected(postern, { organizationId, name: "Shop" });

const path = "/v1/users/me/connected-applications";

const end = "SessionService.DeleteUserSessions";

/** Somebody with three sessions, one of which makes the call. */
async function threeSessions(stage: Stage) {
  const somebody = await person(stage);
  const again = { loginName: somebody.username, password: somebody.password };
  for (let n = 0; n < 2; n++) await made(stage.postern.as(), "/v1/sessions", again);
  const see = async () => (await stage.admin.get(`/v1/sessions?userId=${somebody.userId}`)).body.sessions.length;
  return { ...somebody, see };
}

const sessionScenes: readonly Scene[] = [
  {
    ...{ rpc: end, name: "the caller's own, but the present one", says: "OK" },
    async given(stage) {
      const { client, see } = await threeSessions(stage);
      return { request: { userId: "me" }, by: client, answer: { ended: 2 }, see };
    },
  },
  {
    ...{ rpc: end, name: "somebody's", says: "OK" },
    async given(stage) {
      const { userId, see } = await threeSessions(stage);
      return { request: { userId }, answer: { ended: 3 }, see };
    },
  },
  { ...{ rpc: end, name: "of nobody", says: "USER_NOT_FOUND" }, given: () => ({ request: { userId: "none" } }) },
  {
    ...{ rpc: end, name: "by one who may only read", says: "PERMISSION_DENIED" },
    given: ({ viewer, fixture: { userId } }) => ({ request: { userId }, by: viewer }),
  },
];

/** Every way in which a call about connected applications, or about all sessions of a user, can end. */
export const consentScenes: readonly Scene[] = [
  ...sessionScenes,
  {
    ...{ rpc: list, name: "one's own", says: "OK" },
    given: async (stage) => ({ request: { userId: "me" }, by: (await connection(stage)).person.client }),
  },
  {
    ...{ rpc: list, name: "somebody's", says: "OK" },
    given: async (stage) => ({ request: { userId: (await connection(stage)).person.userId }, by: stage.viewer }),
  },
  {
    ...{ rpc: list, name: "of one without any", says: "OK" },
    given: async (stage) => ({
      request: { userId: "me" },
      by: (await person(stage)).client,
      answer: { applications: [], nextPageToken: "" },
    }),
  },
  { ...{ rpc: list, name: "of nobody", says: "USER_NOT_FOUND" }, given: () => ({ request: { userId: "none" } }) },
  {
    ...{ rpc: list, name: "too many at once", says: "VALIDATION_FAILED", fields: ["pageSize"] },
    given: ({ fixture: { userId } }) => ({ request: { userId, pageSize: 1001 } }),
  },
  {
    ...{ rpc: list, name: "with a token of no list", says: "PAGE_TOKEN_INVALID", fields: ["pageToken"] },
    given: ({ fixture: { userId } }) => ({ request: { userId, pageToken: "none" } }),
  },
  {
    ...{ rpc: list, name: "without a token", says: "UNAUTHENTICATED" },
    given: ({ postern, fixture: { userId } }) => ({ request: { userId }, by: postern.as() }),
  },
  {
    ...{ rpc: disconnect, name: "one's own", says: "OK" },
    async given(stage) {
      const { app, person: somebody } = await connection(stage);
      const see = async () => (await somebody.client.get(path)).body;
      return { request: { userId: "me", appId: app.appId }, by: somebody.client, see };
    },
  },
  {
    ...{ rpc: disconnect, name: "of somebody", says: "OK" },
    async given(stage) {
      const { app, person: somebody } = await connection(stage);
      const see = async () => (await somebody.client.get(path)).body;
      return { request: { userId: somebody.userId, appId: app.appId }, see };
    },
  },
  {
    ...{ rpc: disconnect, name: "that is not connected", says: "CONNECTION_NOT_FOUND" },
    given: ({ fixture: { userId } }) => ({ request: { userId, appId: "none" } }),
  },
  {
    ...{ rpc: disconnect, name: "of nobody", says: "USER_NOT_FOUND" },
    given: () => ({ request: { userId: "none", appId: "none" } }),
  },
  {
    ...{ rpc: disconnect, name: "by one who may only read", says: "PERMISSION_DENIED" },
    given: async (stage) => {
      const { app, person: somebody } = await connection(stage);
      return { request: { userId: somebody.userId, appId: app.appId }, by: stage.viewer };
    },
  },
  {
    ...{ rpc: disconnect, name: "by a name that is too long", says: "VALIDATION_FAILED", fields: ["appId"] },
    given: ({ fixture: { userId } }) => ({ request: { userId, appId: "a".repeat(201) } }),
  },
];
