import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../../src/deps.ts";
import { type Fixture, fixtureOf } from "../fixture/organization.ts";
import { callRest } from "../fixture/rest_call.ts";
import { type Answer, type Client, machine, organization, type Postern, startPostern } from "../harness.ts";
import { rows } from "./matrix_rows.ts";
import { methods, nameOf } from "./methods.ts";

let postern: Postern;
let own: Fixture;
let other: Fixture;
let owner: Client;

beforeAll(async () => {
  postern = await startPostern();
  own = await fixtureOf(postern, await organization(postern));
  other = await fixtureOf(postern, await organization(postern));
  const { userId, client } = await machine(postern, own);
  const header = { "x-service-orgid": own.organizationId };
  const added = await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, header);
  if (added.status !== 200) throw new Error(JSON.stringify(added.body));
  owner = client;
}, 600_000);
afterAll(() => postern[Symbol.asyncDispose]());

/** An object of the other organization, by the name of the field that names one. */
const foreign: Readonly<Record<string, () => string | Promise<string>>> = {
  // A new one each time: it may become a member.
  user_id: () => other.newUser(),
  user_ids: () => other.userId,
  ids: () => other.userId,
  actor_id: () => other.userId,
  about_user_id: () => other.userId,
  on_behalf_of_id: () => other.userId,
  object_id: () => other.projectId,
  project_id: () => other.projectId,
  project_grant_id: () => other.newProjectGrant(),
  organization_id: () => other.organizationId,
  session_id: () => other.newSession(),
  factor_id: async () => (await other.newFactor()).factorId,
  token_id: async () => (await other.newToken()).tokenId,
  credential_id: async () => (await other.newCredential()).credentialId,
  granted_organization_id: () => other.organizationId,
  app_id: () => other.newApp(),
  key_id: async () => (await other.newKey()).keyId,
  job_id: () => other.newJob(),
  delivery_id: () => other.newDelivery(),
  subscription_id: () => other.newSubscription(),
  domain_id: () => other.newDomain(),
  invitation_id: () => other.newInvitation(),
  user_grant_id: () => other.newUserGrant(),
  "subject.id": () => other.userId,
  "resource.id": () => other.projectId,
};

/** The last name of a path, with the one before where it says only that it is an id. */
const kindOf = (path: readonly string[]) => path.slice(path.at(-1) === "id" ? -2 : -1).join(".");

// These fields name others on purpose: an organization lends its projects to others, and gives roles in its own to users of others.
const anyone = [
  "ProjectService.GrantProject granted_organization_id",
  // An id that a new object brings; that it is taken is told, as login names tell it.
  "ApplicationService.CreateOidcApplication client_id",
  "ApplicationService.CreateApiApplication client_id",
  "UserService.CreateHumanUser user_id",
  "UserService.CreateMachineUser user_id",
  "UserService.CreateUsers items.human.user_id",
  "UserService.CreateUsers items.machine.user_id",
  "MemberService.AddMember user_id",
  // The organization that gave the roles.
  "UserRoleService.AllowUserRoles organization_id",
  "OrganizationService.CreateOrganization owner_user_id",
  "UserGrantService.AddUserGrant user_id",
  "UserGrantService.AddUserGrants items.user_id",
];

/** Paths of the fields of a message, and of the messages within it, that name an object. */
function idFieldsOf(message: DescMessage, outer: readonly string[] = []): readonly (readonly string[])[] {
  return message.fields.flatMap(({ name, message: inner }) => {
    if (inner && !outer.includes(name) && inner.typeName.startsWith("postern."))
      return idFieldsOf(inner, [...outer, name]);
    return /(^|_)ids?$/.test(name) ? [[...outer, name]] : [];
  });
}

const jsonNameOf = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

type Json = Readonly<Record<string, unknown>>;

/** The request with another value at a path; of a list, in its first item. */
function withValue(request: Json, [first = "", ...rest]: readonly string[], value: string): Json {
  const key = jsonNameOf(first);
  if (rest.length === 0) return { ...request, [key]: /(^|_)ids$/.test(first) ? [value] : value };
  const inner: unknown = request[key] ?? {};
  if (!Array.isArray(inner)) return { ...request, [key]: withValue(inner as Json, rest, value) };
  const [item, ...items] = inner as readonly Json[];
  return { ...request, [key]: [withValue(item ?? {}, rest, value), ...items] };
}

const cases = methods
  .filter(({ methodKind }) => methodKind === "unary")
  .flatMap((method) =>
    idFieldsOf(method.input).map((path) => [`${nameOf(method)} ${path.join(".")}`, method, path] as const),
  )
  .filter(([title]) => !anyone.includes(title));

/** An answer without what differs from call to call. */
function plain({ status, body }: Answer, ids: readonly string[]): unknown {
  let text = JSON.stringify(body);
  for (const id of ids) text = text.replaceAll(id, "<id>");
  const others = text.replace(/\b[0-9a-hjkmnp-tv-z]{24}\b/g, "<other id>");
  return { status, body: JSON.parse(others.replace(/"(challengeToken|expirationDate)":"[^"]*"/g, '"$1":"<new>"')) };
}

/** What an invitation offers in an object; the row of the matrix offers nothing, because that needs other permissions. */
function offering([list = "", name = ""]: readonly string[]): Json {
  if (list === "grants") return { grants: [{ projectId: own.projectId }] };
  return { memberships: [{ roles: [name === "project_grant_id" ? "PROJECT_GRANT_VIEWER" : "PROJECT_VIEWER"] }] };
}

async function answerTo(method: DescMethod, path: readonly string[], id: string): Promise<unknown> {
  const valid: Json = {
    ...(await (rows[nameOf(method)] as (typeof rows)[string]).request(own)),
    ...(method.name === "CreateInvitations" ? offering(path) : {}),
  };
  const isOfGrant = path.at(-1) === "project_grant_id" && valid.roles !== undefined;
  const request = withValue(isOfGrant ? { ...valid, roles: ["PROJECT_GRANT_OWNER"] } : valid, path, id);
  return plain(await callRest(owner, method, request), [id]);
}

test("every field of the contract that names an object is tried", () => {
  const names = new Set(cases.map(([, , path]) => kindOf(path)));
  expect([...names].filter((name) => !foreign[name])).toEqual([]);
  expect(cases.length).toBeGreaterThan(40);
});

test.each(cases)(
  "%s: an object of another organization is answered like one that nobody has",
  async (_, method, path) => {
    const id = await (foreign[kindOf(path)] as () => Promise<string>)();
    const answer = await answerTo(method, path, id);
    expect(answer).toEqual(await answerTo(method, path, newId()));
    const { status } = answer as { status: number };
    const isAnswered =
      /^(List|AddUserGrants$|CreateInvitations$|Evaluate|Explain|GetMe$|GetNames$|RequestPasswordReset$|StartMailSession$)/.test(
        method.name,
      );
    const isSignIn = method.name === "CreateSession";
    const isClosed = method.name === "RequestRegistration";
    const expected = isAnswered ? [200, 403, 404] : isSignIn ? [401] : isClosed ? [400] : [403, 404];
    expect(expected, JSON.stringify(answer)).toContain(status);
  },
);
