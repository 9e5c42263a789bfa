import { randomBytes } from "node:crypto";
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { beforeAll, expect, test, vi } from "vitest";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../gen/postern/v1/application_pb.ts";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { errorText } from "../../src/messages/catalogue.ts";
import { holdUser } from "../fixture/held_row.ts";
import { type Fixture, fixtureOf } from "../fixture/organization.ts";
import { organization, type Postern, signedUp } from "../harness.ts";
import type { Client, ClientAnswer } from "./client.ts";

const { changePassword } = AccountService.method;
const { createOidcApplication, getApplication } = ApplicationService.method;
const { changePhone, getUser, verifyPhone } = UserService.method;
const { addUserGrant, getUserGrant } = UserGrantService.method;

/** The stage of a client's tests: a server, and the client. */
export type Tried = { readonly postern: Postern; readonly client: Client };

type Headers = Readonly<Record<string, string>>;
/** Asks as the first administrator, unless the headers name somebody else. */
type Ask = (method: DescMethod, request: JsonObject, headers?: Headers) => Promise<ClientAnswer>;
type Stage = Tried & { readonly ask: Ask; readonly fixture: Fixture };

/** The tests that every public client passes, each on objects of its own; those of streams are apart. */
export function keepsPromises(tried: () => Tried): void {
  let stage: Stage;
  beforeAll(async () => {
    const { postern, client } = tried();
    const ask: Ask = (method, request, headers = {}) =>
      client.call({ method, request, headers: { ...bearer(postern.admin.token), ...headers } });
    stage = { postern, client, ask, fixture: await fixtureOf(postern, postern.organizationId) };
  });
  changesPasswords(() => stage);
  createsApplications(() => stage);
  changesPhones(() => stage);
  addsGrants(() => stage);
  sendsMetadata(() => stage);
  speaksLanguages(() => stage);
  keepsDeadlines(() => stage);
}

const bearer = (token: string | undefined): Headers => ({ authorization: `Bearer ${token}` });
const unique = (what: string) => `${what} ${randomBytes(6).toString("hex")}`;

function changesPasswords(stage: () => Stage): void {
  test("changes a password, and the new one signs in", async () => {
    const { ask, postern } = stage();
    const { client, username, password } = await signedUp(postern);
    const newPassword = "Grüne-Kanne-77 🫖";
    const answer = await ask(changePassword, { oldPassword: password, newPassword }, bearer(client.token));
    expect(answer).toMatchObject({ code: "OK", body: { details: { sequence: "2" } } });
    const signIn = async (secret: string) =>
      (await postern.as().post("/v1/sessions", { loginName: username, password: secret })).status;
    expect([await signIn(newPassword), await signIn(password)]).toEqual([200, 401]);
  });

  test("is told of a wrong password", async () => {
    const { client } = await signedUp(stage().postern);
    const request = { oldPassword: "Red-Kettle-42", newPassword: "Green-Teapot-77" };
    expect(await stage().ask(changePassword, request, bearer(client.token))).toMatchObject({
      ...{ code: "InvalidArgument", reason: "PASSWORD_MISMATCH", violations: ["oldPassword PASSWORD_MISMATCH"] },
    });
  });
}

function createsApplications(stage: () => Stage): void {
  test("creates an application, and reads it back, in any script", async () => {
    const { ask, fixture } = stage();
    const name = unique("Zoë 日本 🦊");
    const created = await ask(createOidcApplication, { projectId: fixture.projectId, name });
    expect(created).toMatchObject({
      code: "OK",
      body: { clientSecret: expect.stringMatching(/^cs_/), noneCompliant: true, complianceProblems: [{}] },
    });
    const { projectId } = fixture;
    const read = await ask(getApplication, { projectId, appId: created.body.appId ?? "" });
    expect(read.body).toMatchObject({ application: { id: created.body.appId, name } });
  });

  test("is told of a missing project, in any script", async () => {
    const projectId = "Zoë 日本 🦊 100%";
    const answer = await stage().ask(createOidcApplication, { projectId, name: "My app" });
    expect(answer).toMatchObject({
      ...{ code: "NotFound", reason: "PROJECT_NOT_FOUND", message: errorText("PROJECT_NOT_FOUND", { id: projectId }) },
      details: expect.arrayContaining([
        expect.objectContaining({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", domain: "postern" }),
        expect.objectContaining({ "@type": "type.googleapis.com/google.rpc.ResourceInfo", resourceName: projectId }),
      ]),
    });
  });

  test("is told of every wrong field at once", async () => {
    const { ask, fixture } = stage();
    const additionalOrigins = ["https://app.example", "https://app.example/path"];
    const answer = await ask(createOidcApplication, { projectId: fixture.projectId, name: "", additionalOrigins });
    expect(answer).toMatchObject({ code: "InvalidArgument", reason: "VALIDATION_FAILED" });
    expect([...answer.violations].sort()).toEqual(["additionalOrigins[1] ORIGIN_MALFORMED", "name REQUIRED"]);
  });
}

function changesPhones(stage: () => Stage): void {
  test("changes a phone, and the code verifies it", async () => {
    const { ask, fixture } = stage();
    const userId = await fixture.newUser();
    const { code, body } = await ask(changePhone, { userId, phone: "+41 44 668 18 00", returnCode: {} });
    expect([code, body.verificationCode]).toEqual(["OK", expect.stringMatching(/^\w{6}$/)]);
    expect(body.details).not.toHaveProperty("creationDate");
    const verified = await ask(verifyPhone, { userId, verificationCode: body.verificationCode ?? "" });
    expect(verified.code).toBe("OK");
    expect((await ask(getUser, { userId })).body).toMatchObject({
      user: { human: { phone: "+41446681800", phoneVerified: true } },
    });
  });

  test("is told of modes that exclude each other", async () => {
    const { ask, fixture } = stage();
    const request = { userId: await fixture.newUser(), phone: "+41446681800", sendCode: {}, returnCode: {} };
    const { code, reason, violations } = await ask(changePhone, request);
    expect([code, reason]).toEqual(["InvalidArgument", "VALIDATION_FAILED"]);
    expect(violations).toEqual(["sendCode MUTUALLY_EXCLUSIVE", "returnCode MUTUALLY_EXCLUSIVE"]);
  });
}

function addsGrants(stage: () => Stage): void {
  test("adds a grant, and reads it back", async () => {
    const { ask, fixture } = stage();
    const request = { userId: await fixture.newUser(), projectId: fixture.projectId, roleKeys: ["viewer"] };
    const { code, body } = await ask(addUserGrant, request);
    expect([code, body.details]).toMatchObject(["OK", { sequence: "1", resourceOwner: fixture.organizationId }]);
    const read = await ask(getUserGrant, { userGrantId: body.userGrantId ?? "" });
    expect(read.body).toMatchObject({ userGrant: { id: body.userGrantId, ...request } });
  });

  test("is told of a grant that is there already", async () => {
    const { ask, fixture } = stage();
    const request = { userId: await fixture.newUser(), projectId: fixture.projectId, roleKeys: ["viewer"] };
    const first = await ask(addUserGrant, request);
    const resourceName = first.body.userGrantId;
    expect(await ask(addUserGrant, request)).toMatchObject({
      ...{ code: "AlreadyExists", reason: "USER_GRANT_EXISTS" },
      details: expect.arrayContaining([expect.objectContaining({ resourceName })]),
    });
  });
}

function sendsMetadata(stage: () => Stage): void {
  test("x-service-orgid names the organization", async () => {
    const { ask, postern } = stage();
    const elsewhere = await fixtureOf(postern, await organization(postern));
    const request = { projectId: elsewhere.projectId, name: "My app" };
    expect(await ask(createOidcApplication, request)).toMatchObject({ code: "NotFound", reason: "PROJECT_NOT_FOUND" });
    const there = { "x-service-orgid": elsewhere.organizationId };
    expect((await ask(createOidcApplication, request, there)).body).toMatchObject({
      details: { resourceOwner: elsewhere.organizationId },
    });
    const nowhere = { "x-service-orgid": "no-such-organization" };
    expect(await ask(createOidcApplication, request, nowhere)).toMatchObject({
      ...{ code: "PermissionDenied", reason: "PERMISSION_DENIED" },
    });
  });

  test("the same idempotency-key gets the same answer, with its secret, and no other", async () => {
    const { ask, fixture } = stage();
    const request = { projectId: fixture.projectId, name: unique("My app") };
    const key = { "idempotency-key": unique("key").replace(" ", "-") };
    const first = await ask(createOidcApplication, request, key);
    expect(first.body).toMatchObject({ clientSecret: expect.stringMatching(/^cs_/) });
    expect((await ask(createOidcApplication, request, key)).body).toEqual(first.body);
    expect(await ask(createOidcApplication, { ...request, devMode: true }, key)).toMatchObject({
      reason: "IDEMPOTENCY_KEY_REUSED",
    });
  });

  test("a token is asked for, and every answer has its number", async () => {
    const { ask, fixture } = stage();
    const answers = [
      await ask(getUser, { userId: fixture.userId }),
      await ask(getUser, { userId: fixture.userId }, bearer("none")),
    ];
    expect(answers.map(({ code, reason }) => [code, reason])).toEqual([
      ["OK", undefined],
      ["Unauthenticated", "TOKEN_INVALID"],
    ]);
    const numbers = answers.map(({ headers }) => headers["x-request-id"]);
    expect(numbers).toEqual([expect.stringMatching(/\w{8}/), expect.stringMatching(/\w{8}/)]);
    expect(numbers[0]).not.toBe(numbers[1]);
  });
}

function speaksLanguages(stage: () => Stage): void {
  test("is refused in its own language", async () => {
    const { ask, fixture } = stage();
    const request = { userId: fixture.userId, phone: "none" };
    const locales = async (wanted: string) => {
      const { details } = await ask(changePhone, request, { "accept-language": wanted });
      return details.flatMap(({ locale = [] }) => locale);
    };
    expect([await locales("de-CH"), await locales("fr")]).toEqual([["de"], ["fr"]]);
  });
}

function keepsDeadlines(stage: () => Stage): void {
  // The lock goes only after the answer, so nothing else could have ended the wait.
  test("the server ends a call whose time is over", async ({ skip }) => {
    const { ask, client, postern, fixture } = stage();
    if (!client.deadline) return skip("it lets nobody set the header");
    const userId = await fixture.newUser();
    await using _ = await holdUser(postern.databaseUrl, userId);
    const request = { userId, phone: "+41446681800", returnCode: {} };
    expect(await ask(changePhone, request, client.deadline(400))).toMatchObject({
      ...{ code: "DeadlineExceeded", reason: "DEADLINE_EXCEEDED" },
      headers: { "x-request-id": expect.anything() },
    });
  });

  test("a deadline in the client's own way ends the call", async () => {
    const { client, postern, fixture } = stage();
    const userId = await fixture.newUser();
    await using _ = await holdUser(postern.databaseUrl, userId);
    const request = { userId, phone: "+41446681800", returnCode: {} };
    const headers = bearer(postern.admin.token);
    const answer = await client.call({ method: changePhone, request, headers, timeoutMs: 400 });
    expect(answer.code).toBe("DeadlineExceeded");
  });

  test("a call whose time is not over is answered", async () => {
    const { ask, client, fixture } = stage();
    const request = { userId: await fixture.newUser(), phone: "+41446681800", returnCode: {} };
    expect(await ask(changePhone, request, client.deadline?.(60_000))).toMatchObject({ code: "OK" });
  });
}

/** The tests that a client passes which hands over messages as they come. */
export function hearsStreams(tried: () => Tried): void {
  test("hears of events while they happen, from a position on", async () => {
    const { client, postern } = tried();
    const { admin } = postern;
    const { userId, watchEvents } = await newcomer(postern);
    await using watching = await client.watch(watchEvents);
    const types = async () => (await watching.received()).map(typeIn);
    await admin.post(`/v1/users/${userId}/phone`, { phone: "+41446681800", isVerified: true });
    await vi.waitFor(async () => expect(await types()).toEqual(["user.phone_changed"]), 60_000);
    await admin.post(`/v1/users/${userId}:deactivate`);
    await vi.waitFor(async () => expect(await types()).toEqual(["user.phone_changed", "user.deactivated"]), 60_000);
  });
}

/** Makes a user, and the call that watches its events from now on. */
export async function newcomer(postern: Postern) {
  const { userId } = await signedUp(postern);
  const { body } = await postern.admin.get(`/v1/events?objectId=${userId}`);
  const watchEvents = {
    method: EventService.method.watchEvents,
    request: { objectId: userId, after: body.events[0].position },
    headers: bearer(postern.admin.token),
  };
  return { userId, watchEvents };
}

/** The type of the event in a message, or whatever came in its place. */
export const typeIn = (message: JsonObject) => (message.event as JsonObject | undefined)?.type ?? message;
