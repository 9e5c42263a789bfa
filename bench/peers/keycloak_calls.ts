import type { Calls } from "../../packages/gateway/bench/load/generator.ts";
import { role } from "../../test/fixture/seed.ts";
import { restCalls } from "../recipe_calls.ts";
import { checkOf, countOf, grantOf, held, holderOf, type Question } from "./question.ts";

/** The calls of a question to Keycloak; the role of each project has the id that the function of the same name gives it. */
export type KeycloakCalls = { readonly question: Question; readonly token: string; readonly userId: string };

/** The realm that the calls are about. */
export const realm = "peers";

/** The id of the role in a project. */
export const roleIdOf = (projectId: string): string => `r${projectId}`;

/** Makes the calls; the thread that sends them imports this. */
export function callsOf(options: unknown, url: string): Calls {
  const { question, token, userId } = options as KeycloakCalls;
  const isRight = (response: string, n: number) => isRightAnswer(question, response, { n, userId });
  return restCalls(requestsOf(question), { url, token, isRight });
}

type Request = { readonly method: string; readonly path: string; readonly body: object | undefined };

const admin = `/admin/realms/${realm}`;
const get = (path: string): Request => ({ method: "GET", path, body: undefined });
const post = (path: string, body: object): Request => ({ method: "POST", path, body });

function requestsOf(question: Question): (n: number) => Request {
  switch (question) {
    case "grant":
      return (n) => {
        const { userId, projectId } = grantOf(n);
        const granted = [{ id: roleIdOf(projectId), name: role }];
        return post(`${admin}/users/${userId}/role-mappings/clients/${projectId}`, granted);
      };
    case "list":
      return (n) => get(`${admin}/users/${holderOf(n)}/role-mappings`);
    case "check":
      return (n) => {
        const { userId, projectId } = checkOf(n);
        return get(`${admin}/users/${userId}/role-mappings/clients/${projectId}`);
      };
    case "me":
      return () => get("/realms/master/protocol/openid-connect/userinfo");
    case "user":
      return (n) => post(`${admin}/users`, person(`person${n}`));
    case "password":
      return (n) => {
        const credentials = [{ type: "password", value: "Blue-Kettle-42", temporary: false }];
        return post(`${admin}/users`, { ...person(`secret${n}`), credentials });
      };
    case "application":
      return (n) =>
        post(`${admin}/clients`, { clientId: `application-${n}`, redirectUris: ["https://example.com/callback"] });
    case "batch":
      throw new Error("Keycloak has no batches of checks");
  }
}

const person = (username: string) => ({
  ...{ username, firstName: "Ada", lastName: "Byron", email: `${username}@example.com`, enabled: true },
});

type Expected = { readonly n: number; readonly userId: string };

function isRightAnswer(question: Question, response: string, { n, userId }: Expected): boolean {
  const isOk = response.startsWith("HTTP/1.1 200");
  switch (question) {
    case "grant":
      return response.startsWith("HTTP/1.1 204");
    case "list":
      return isOk && countOf(response, `"name":"${role}"`) === held;
    case "check":
      return isOk && response.includes(`"name":"${role}"`) === checkOf(n).isHeld;
    case "me":
      return isOk && response.includes(`"sub":"${userId}"`);
    case "user":
    case "password":
    case "application":
      return response.startsWith("HTTP/1.1 201");
    case "batch":
      return false;
  }
}
