import { type DescMethod, getOption, type JsonObject } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { type Fixture, fixtureOf, lentFixtureOf } from "../fixture/organization.ts";
import { callRest, restRequest } from "../fixture/rest_call.ts";
import { type Answer, type Client, machine, organization, type Postern } from "../harness.ts";
import { startDocumentSite } from "../provider/document_site.ts";
import { type Row, rows } from "./matrix_rows.ts";
import { methods, nameOf } from "./methods.ts";
import { type HeadersOf, tokensForOthers } from "./tokens_for_others.ts";

// The roles with their permissions, stated again: a test must not learn the answer from the code that it tests (see matrix_rows.ts).
const evaluate = "authorization.evaluate";
const given: Readonly<Record<string, (permission: string) => boolean>> = {
  INSTANCE_OWNER: () => true,
  INSTANCE_VIEWER: (permission) => permission.endsWith(".read") || permission === evaluate,
  ORG_OWNER: (permission) => !permission.startsWith("instance.") && permission !== "org.metadata.write",
  ORG_USER_MANAGER: (permission) =>
    ["org", "org.metadata", "user", "user.metadata", "user.grant", "project"].some(
      (noun) => permission === `${noun}.read`,
    ) || ["user.write", "user.metadata.write", "user.grant.write", evaluate].includes(permission),
  ORG_VIEWER: (permission) =>
    (permission.endsWith(".read") && permission !== "instance.read") || permission === evaluate,
  PROJECT_OWNER: (permission) =>
    ["project", "app", "user.grant", "member"].some((noun) => [`${noun}.read`, `${noun}.write`].includes(permission)) ||
    ["role.write", "project.grant.write", evaluate].includes(permission),
  PROJECT_GRANT_OWNER: (permission) =>
    ["project.read", "user.grant.read", "user.grant.write", "member.read", "member.write", evaluate].includes(
      permission,
    ),
  PROJECT_VIEWER: (permission) => ["project.read", "user.grant.read", evaluate].includes(permission),
  PROJECT_GRANT_VIEWER: (permission) => ["project.read", "user.grant.read", evaluate].includes(permission),
  PROJECT_EVALUATOR: (permission) => permission === evaluate,
};

const isOnGrant = (role: string) => role.startsWith("PROJECT_GRANT_");

/** The organization of the request, relative to the caller's. */
type NamedOrganization = "own" | "other" | "unknown header" | "header of the target";

const denied = 403;
const missing = 404;

/** The status that the row asks for; `allowed` is any answer of a handler that was reached. */
function expected(row: Row, role: string, place: NamedOrganization): number | "allowed" {
  if (row.needs === "anyone" || row.needs === "caller") return "allowed";
  if (row.ownOrganization && (place === "own" || place === "other")) return "allowed";
  if (![row.needs, ...(row.instead ?? [])].some((one) => given[role]?.(one))) return denied;
  const onInstance = role.startsWith("INSTANCE_");
  if (row.decides === "instance") return onInstance ? "allowed" : denied;
  if (row.decides === "nobody") return role.startsWith("PROJECT_") ? denied : "allowed";
  // No header has a say in it, and nothing says whether a project exists.
  if (row.decides === "project")
    return onInstance || place === "own" || place === "unknown header" ? "allowed" : denied;
  // A role on a project reaches none of its organization's users.
  if (row.decides === "user" && role.startsWith("PROJECT_") && !row.reaches) return missing;
  if (row.decides === "user")
    return onInstance || (place !== "other" && place !== "header of the target") ? "allowed" : missing;
  if (place === "unknown header") return denied;
  if (onInstance) return place === "other" && !row.objectless && !row.ownPlace ? missing : "allowed";
  if (place === "header of the target") return denied;
  if (role.startsWith("PROJECT_") && !row.reaches) return denied;
  if (role.startsWith("PROJECT_") && row.reaches === "own" && !row.objectless) return missing;
  return place === "own" || row.objectless ? "allowed" : missing;
}

let site: Awaited<ReturnType<typeof startDocumentSite>>;
let postern: Postern;
let target: Fixture;
let lent: Fixture;
/** A client whose token is revoked. */
let revoked: Client;
const holders = new Map<string, Client>();
/** Who has a token of the token endpoint that is not for our API. */
let others: Readonly<Record<string, HeadersOf>>;
const places: readonly NamedOrganization[] = ["own", "other", "unknown header", "header of the target"];

beforeAll(async () => {
  site = await startDocumentSite();
  ({ postern } = site);
  others = await tokensForOthers(site);
  target = await fixtureOf(postern, await organization(postern));
  const other = await fixtureOf(postern, await organization(postern));
  lent = await lentFixtureOf(postern, target, await organization(postern));
  const lentElsewhere = await lentFixtureOf(postern, other, await organization(postern));
  for (const role of Object.keys(given)) {
    const [own, elsewhere] = isOnGrant(role) ? [lent, lentElsewhere] : [target, other];
    holders.set(`${role} own`, await holder(role, own));
    holders.set(`${role} other`, await holder(role, elsewhere));
  }
  const { userId, tokenId, client } = await machine(postern);
  await postern.admin.delete(`/v1/users/${userId}/tokens/${tokenId}`);
  revoked = client;
  const projectBeside = { ...target, projectId: await target.newProject(), projectOwners: [] };
  const grantBeside = await lentFixtureOf(postern, other, lent.organizationId);
  for (const role of Object.keys(given).filter((one) => one.startsWith("PROJECT_")))
    holders.set(`${role} beside`, await holder(role, isOnGrant(role) ? grantBeside : projectBeside));
}, 600_000);
afterAll(() => site?.[Symbol.asyncDispose]());

/** A caller with one role, in the organization of the fixture. */
async function holder(role: string, { organizationId, projectId, grant, projectOwners }: Fixture): Promise<Client> {
  const { userId, client } = await machine(postern, { organizationId });
  if (role === "PROJECT_OWNER") projectOwners.push(userId);
  const scope = role.startsWith("INSTANCE_")
    ? { instance: true }
    : role.startsWith("PROJECT_")
      ? { projectId, ...grant }
      : {};
  const headers = { "x-service-orgid": organizationId };
  const added = await postern.admin.post("/v1/members", { userId, roles: [role], ...scope }, headers);
  if (added.status !== 200) throw new Error(JSON.stringify(added.body));
  return client;
}

function headersFor(
  place: NamedOrganization,
  decides: Row["decides"],
  { organizationId }: Fixture,
): Record<string, string> {
  if (place === "unknown header") return { "x-service-orgid": "no-such-organization" };
  return place === "header of the target" && decides !== "nobody" ? { "x-service-orgid": organizationId } : {};
}

/** A handler was reached when the answer is none of the guards'; what a handler says of its own is its tests' concern. */
function outcome({ status, body }: Answer): number | "allowed" {
  if (body?.details?.[0]?.reason === "SIGN_IN_FAILED") return "allowed";
  return [401, denied, missing].includes(status) ? status : body?.code === 13 ? status : "allowed";
}

/** A stream that is open does not end by itself: that it opened is all there is to know. */
async function ask(
  client: Client,
  method: DescMethod,
  request: object,
  headers: Record<string, string>,
): Promise<Answer> {
  if (method.methodKind === "unary") return callRest(client, method, { ...request }, headers);
  const leaving = new AbortController();
  const authorization = client.token ? { authorization: `Bearer ${client.token}` } : undefined;
  const path = `${postern.url}${getOption(method, http).pattern.value}`;
  const response = await fetch(path, { headers: { ...authorization, ...headers }, signal: leaving.signal });
  const body = response.ok ? {} : await response.json();
  leaving.abort();
  return { status: response.status, body, headers: response.headers };
}

test("every rpc has a row, and its row says what its access option says", () => {
  expect(Object.keys(rows).sort()).toEqual(methods.map(nameOf).sort());
  for (const method of methods) {
    const { who, ...option } = getOption(method, access);
    const freshSignIn = option.freshSignIn && (option.tokenStandsIn ? "or a token" : true);
    const says = who.case === "anyone" ? "anyone" : who.case === "signedIn" ? "caller" : who.value;
    const row = rows[nameOf(method)];
    const instead = option.instead.filter(({ when }) => !when).map(({ permission }) => permission);
    const { needs, freshSignIn: fresh = false, instead: others = [] } = row ?? {};
    expect({ needs, freshSignIn: fresh, instead: others }, nameOf(method)).toEqual({
      needs: says,
      freshSignIn,
      instead,
    });
  }
});

type Request = Awaited<ReturnType<Row["request"]>>;

describe.each(methods.map((method) => ({ method, name: nameOf(method) })))("$name", ({ method, name }) => {
  const row = rows[name] as Row;
  const isRead = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  const untouched = new Map<Fixture, Request>();

  /** A request about what only an allowed write changes: refused calls and reads share one. */
  async function requestFor(aim: Fixture, wanted: number | "allowed"): Promise<Request> {
    if (wanted === "allowed" && !isRead) return row.request(aim);
    const request = untouched.get(aim) ?? (await row.request(aim));
    untouched.set(aim, request);
    return request;
  }

  test("without a token and with a revoked one: 401, unless anyone may", async () => {
    for (const client of [postern.as(), revoked]) {
      const expected = row.unknownCaller ?? { status: 401, reason: undefined };
      const { status, body } = await ask(client, method, await requestFor(target, expected.status), {});
      expect(status, JSON.stringify(body)).toBe(expected.status);
      if (expected.reason) expect(body.details[0].reason).toBe(expected.reason);
      expect(row.unknownCaller !== undefined).toBe(row.needs === "anyone");
    }
  });

  test("with a token that is not for our API: what a caller without one gets", async () => {
    const { status, reason } = row.unknownCaller ?? { status: 401, reason: undefined };
    for (const [whose, headersOf] of Object.entries(others)) {
      const request = await requestFor(target, status);
      const { verb, path } = restRequest(method, { ...request } as JsonObject);
      const headers = await headersOf(verb, postern.url + path.replace(/\?.*/, ""));
      const answer = await ask(postern.as(), method, request, headers);
      expect([whose, answer.status, reason && answer.body.details[0].reason]).toEqual([whose, status, reason]);
    }
  });

  test.each(Object.keys(given))("%s", async (role) => {
    const aim = isOnGrant(role) ? lent : target;
    for (const place of places) {
      const from = place === "own" || place === "unknown header" ? "own" : "other";
      const client = holders.get(`${role} ${from}`) as Client;
      const wanted = expected(row, role, place);
      const request = await requestFor(aim, wanted);
      const answer = await ask(client, method, request, headersFor(place, row.decides, aim));
      expect({ place, outcome: outcome(answer), body: answer.body }).toEqual({
        place,
        outcome: wanted,
        body: answer.body,
      });
    }
  });

  const onProjects = row.reaches === "project" ? Object.keys(given).filter((role) => role.startsWith("PROJECT_")) : [];
  if (onProjects.length > 0)
    test.each(onProjects)("%s of another project in the same organization", async (role) => {
      const client = holders.get(`${role} beside`) as Client;
      const request = await requestFor(isOnGrant(role) ? lent : target, missing);
      const { status, body } = await ask(client, method, request, {});
      expect({ status, body }).toEqual({ status: given[role]?.(row.needs) ? missing : denied, body });
    });
});
