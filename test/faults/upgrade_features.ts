import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { eventually } from "../first_start.ts";
import { type Answer, clientOf } from "../harness.ts";
import { basic, post } from "../provider/application.ts";
import { bySecret } from "../provider/machine.ts";

/** A node of this release and one of before, which share a database and the file of mails. */
type Nodes = Readonly<Record<"newer" | "older" | "token" | "dataDir", string>>;
type Sent = readonly [method: string, path: string, body?: unknown];

const password = "Blue-Kettle-42";
const inCode = /^(?:[2-9A-Z]{4}-){5}[2-9A-Z]{4}$/m;
const inSignIn = /\b[2-9B-Z]{4}-[2-9B-Z]{4}\b/;
const inEmail = /^[2-9B-Z]{6}$/m;

/** Uses what only a node of this release has, while one of before serves, and asks that one about the users of it. */
export async function useNewFeatures(nodes: Nodes): Promise<void> {
  const features = { ownNames, metadata, mailedCode, registration, invitation, machine };
  await Promise.all(Object.entries(features).map(async ([name, use]) => use(await placeOf(nodes, name))));
}

type Place = Awaited<ReturnType<typeof placeOf>>;

/** A new organization, and the calls in it at both nodes. */
async function placeOf({ newer, older, token, dataDir }: Nodes, name: string) {
  const at =
    (url: string) =>
    async ([method, path, body]: Sent, as: string | undefined = token, status = 200): Promise<Answer["body"]> => {
      const headers: Record<string, string> = organizationId === "" ? {} : { "x-service-orgid": organizationId };
      const answer = await clientOf(url, as).call(method, path, body, as === token ? headers : {});
      const of = `${name}: ${method} ${path} at the node of ${url === newer ? "after" : "before"}`;
      expect([of, answer.status, answer.body]).toEqual([of, status, expect.anything()]);
      return answer.body;
    };
  let organizationId = "";
  const [after, before] = [at(newer), at(older)];
  ({ organizationId } = await after(["POST", "/v1/organizations", { name: `New ${name} ${unique()}` }]));
  const { projectId } = await after(["POST", "/v1/projects", { name: "Intranet" }]);
  await after(["POST", `/v1/projects/${projectId}/roles`, { key: "reader" }]);
  return { organizationId, projectId, newer, after, before, mailTo: mailIn(dataDir) };
}

const unique = () => randomBytes(6).toString("hex");

const mailIn =
  (dataDir: string) =>
  async (email: string, like: RegExp): Promise<string | undefined> => {
    const lines = (await readFile(join(dataDir, "mail.log"), "utf8").catch(() => "")).split("\n").filter(Boolean);
    const texts = lines.map((line) => JSON.parse(line)).filter(({ to }) => to === email);
    return texts.flatMap(({ text }) => like.exec(text)?.[0] ?? []).at(-1);
  };

async function person({ after }: Place, username = `new-${unique()}`) {
  const human = { username, givenName: "Ada", familyName: "Byron", email: `${unique()}@example.com` };
  const { userId } = await after(["POST", "/v1/users/human", { ...human, password }]);
  return { userId: String(userId), username, email: human.email };
}

const tokenAt = async (call: Place["after"], body: object): Promise<string> =>
  (await call(["POST", "/v1/sessions", { password, ...body }], "")).token;

/** A name of an organization alone signs in at the node of after, with that organization; the node of before knows nobody by it. */
async function ownNames(place: Place): Promise<void> {
  const { organizationId, after, before } = place;
  await after(["PATCH", `/v1/organizations/${organizationId}`, { ownLoginNames: true }]);
  const { userId, username } = await person(place);
  const token = await tokenAt(after, { loginName: username, organizationId });
  await before(["POST", "/v1/sessions", { loginName: username, password }], "", 401);
  expect((await before(["GET", "/v1/users/me"], token)).user.id).toBe(userId);
  expect((await before(["GET", `/v1/users/${userId}`])).user.username).toBe(username);
  await before(["GET", `/v1/users:byLoginName?loginName=${username}`], undefined, 404);
  // A password that is changed there is that of the user here, too.
  const change = { oldPassword: password, newPassword: "Quiet-Harbour-5718" };
  await before(["PUT", "/v1/users/me/password", change], token);
  await tokenAt(after, { loginName: username, organizationId, password: change.newPassword });
  await after(["DELETE", `/v1/users/${userId}`]);
  await before(["GET", "/v1/users/me"], token, 401);
  await before(["GET", `/v1/users/${userId}`], undefined, 404);
}

/** Metadata stays when the node of before changes the user. */
async function metadata(place: Place): Promise<void> {
  const { userId } = await person(place);
  const entries = [{ key: "plan", value: "gold" }];
  await place.after(["PATCH", `/v1/users/${userId}/metadata`, { entries }]);
  await place.before(["PATCH", `/v1/users/${userId}/human`, { givenName: "Augusta" }]);
  expect((await place.before(["GET", `/v1/users/${userId}`])).user.human.givenName).toBe("Augusta");
  const { entries: kept } = await place.after(["GET", `/v1/users/${userId}/metadata`]);
  expect(kept).toMatchObject(entries);
  const found = await place.after(["GET", "/v1/users?filter.metadata.key=plan&filter.metadata.value=gold"]);
  expect(found.users.map(({ id }: { id: string }) => id)).toEqual([userId]);
}

/** A session that a mailed code began is one at the node of before, too. */
async function mailedCode(place: Place): Promise<void> {
  const { after, before } = place;
  await after(["PUT", "/v1/policies/sign-in", { policy: { mailCodes: true } }]);
  const { code, challengeToken, userId } = await mailed(place, inSignIn, async () => {
    const { userId, username, email } = await person(place);
    const verificationCode = await eventually(() => place.mailTo(email, inEmail), "the code of an address");
    await after(["POST", `/v1/users/${userId}/email:verify`, { verificationCode }]);
    const { challengeToken } = await after(["POST", "/v1/sessions/mail:start", { loginName: username }], "");
    return { email, userId, challengeToken };
  });
  const { token } = await after(["POST", "/v1/sessions/mail", { challengeToken, verificationCode: code }], "");
  expect((await before(["GET", "/v1/users/me"], token)).user.id).toBe(userId);
}

/** Whoever registers at the node of after signs in at that of before. */
async function registration(place: Place): Promise<void> {
  const { organizationId, after, before } = place;
  await after(["PUT", "/v1/policies/registration", { policy: { audience: "REGISTRATION_AUDIENCE_EVERYBODY" } }]);
  const { code, email } = await mailed(place, inCode, async () => {
    const asked = { organizationId, email: `${unique()}@example.com` };
    await after(["POST", "/v1/registrations", asked], "");
    return asked;
  });
  const newcomer = { code, username: `new-${unique()}`, givenName: "Grace", familyName: "Hopper", password };
  const { userId } = await after(["POST", "/v1/registrations:complete", newcomer], "");
  const token = await tokenAt(before, { loginName: newcomer.username });
  expect((await before(["GET", "/v1/users/me"], token)).user).toMatchObject({ id: userId, human: { email } });
}

/** What an invitation gives holds at the node of before. */
async function invitation(place: Place): Promise<void> {
  const { projectId, after, before } = place;
  const offers = { memberships: [{ roles: ["ORG_VIEWER"] }], grants: [{ projectId, roleKeys: ["reader"] }] };
  const { code, userId, token } = await mailed(place, inCode, async () => {
    const { userId, username, email } = await person(place);
    await after(["POST", "/v1/invitations", { items: [{ email }], ...offers }]);
    return { email, userId, token: await tokenAt(before, { loginName: username }) };
  });
  await after(["POST", "/v1/invitations:accept", { code }], token);
  const { userGrants } = await before(["GET", `/v1/users/${userId}/grants`]);
  const { members } = await before(["GET", "/v1/members"]);
  expect([userGrants.length, members.map((one: { userId: string }) => one.userId)]).toEqual([1, [userId]]);
  expect((await before(["GET", `/v1/projects/${projectId}`], token)).project.id).toBe(projectId);
}

/** A machine gets tokens at the node of after by its credentials, and what the node of before changes counts for them. */
async function machine(place: Place): Promise<void> {
  const { projectId, after, before } = place;
  const { userId } = await after(["POST", "/v1/users/machine", { username: `new-${unique()}`, name: "Nightly job" }]);
  const { userGrantId } = await before(["POST", `/v1/users/${userId}/grants`, { projectId, roleKeys: ["reader"] }]);
  const robot = await after(["POST", `/v1/users/${userId}/secrets`, {}]);
  const { tokenOf, rolesOf } = await tokensOf(place, robot);
  const token = await tokenOf();
  expect(await rolesOf(token)).toEqual(["reader"]);
  await before(["GET", "/v1/users/me"], token, 401);
  // A personal access token is one at both nodes, also that of a machine with a secret.
  const { token: personal } = await after(["POST", `/v1/users/${userId}/tokens`, {}]);
  expect((await before(["GET", "/v1/users/me"], personal)).user.id).toBe(userId);
  await before(["POST", `/v1/user-grants/${userGrantId}:deactivate`, {}]);
  // A token is in force or not at once. A new one may still be made until the node of after has heard of it, and gives nothing.
  const refusedSoon = async (error: string) => {
    expect(await rolesOf(token)).toBeUndefined();
    const made = async () => {
      const answer = await tokenOf();
      if (answer !== error) expect(await rolesOf(answer)).toBeUndefined();
      return answer;
    };
    await expect.poll(made).toBe(error);
  };
  await refusedSoon("invalid_scope");
  await before(["POST", `/v1/user-grants/${userGrantId}:reactivate`, {}]);
  expect([await rolesOf(token), await rolesOf(await tokenOf())]).toEqual([["reader"], ["reader"]]);
  await before(["POST", `/v1/users/${userId}:deactivate`, {}]);
  await refusedSoon("invalid_client");
  await before(["POST", `/v1/users/${userId}:reactivate`, {}]);
  expect(await rolesOf(await tokenOf())).toEqual(["reader"]);
  await after(["DELETE", `/v1/users/${userId}`]);
  expect([await rolesOf(token), await tokenOf()]).toEqual([undefined, "invalid_client"]);
  await before(["GET", `/v1/users/${userId}`], undefined, 404);
}

/** Asks for a token of a machine for the project, or for the error; and an API of the project for the roles of a token that is in force. */
async function tokensOf(place: Place, robot: Readonly<Record<"clientId" | "clientSecret", string>>) {
  const { projectId, newer, after } = place;
  const api = await after(["POST", `/v1/projects/${projectId}/applications/api`, { name: "API" }]);
  const scope = `urn:postern:project:id:${projectId}`;
  return {
    async tokenOf(): Promise<string> {
      const { body } = await bySecret(newer, { ...robot, scope });
      return body.access_token ?? body.error;
    },
    async rolesOf(token: string): Promise<readonly string[] | undefined> {
      const { body } = await post(newer, "/oauth/introspect", { token }, basic(api));
      return body.active ? body.roles : undefined;
    },
  };
}

type Begun = { readonly email: string };

/** Begins something that is mailed, anew if no mail comes: the node of before drops what it does not know, and says nothing. */
async function mailed<T extends Begun>(
  place: Place,
  like: RegExp,
  begin: () => Promise<T>,
): Promise<T & { code: string }> {
  for (let tries = 0; tries < 20; tries++) {
    const begun = await begin();
    for (let looks = 0; looks < 40; looks++, await pause(100)) {
      const code = await place.mailTo(begun.email, like);
      if (code !== undefined) return { ...begun, code };
    }
  }
  throw new Error("no mail came, however often it was asked for");
}
