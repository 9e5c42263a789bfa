import { afterAll, beforeAll, expect, test } from "vitest";
import { mailTexts } from "../../../src/messages/mail_texts.ts";
import { type Answer, machine, organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { openProbe } from "../../probe.ts";
import { newAddress } from "../../provider/mail_pages/mail_links.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const refused = ({ status, body }: Answer) => [status, body.details?.[0]?.reason];
const within = (organizationId: string) => ({ "x-service-orgid": organizationId });

const person = { givenName: "Ada", familyName: "Lovelace", email: "ada@example.com", password: "Blue-Kettle-42" };
let made = 0;
const name = () => `self-service-${++made}`;

/** An organization whose people may delete their accounts, and one of them. */
async function free(restoreDays = 5) {
  const organizationId = await organization(postern);
  const policy = { restoreDays, selfErasure: true };
  done(await postern.admin.put("/v1/policies/privacy", { policy }, within(organizationId)));
  return { organizationId, ...(await signedUp(postern, { organizationId })) };
}

test("people change their own names, address and language, and nothing that only administrators decide", async () => {
  const { client, userId } = await signedUp(postern);
  const own = (body: object) => client.call("PATCH", "/v1/users/me/human", body);
  const address = { streetAddress: "12 St James's Square", locality: "London", country: "GB" };
  done(await own({ givenName: "Augusta", familyName: "King", address, language: "de-CH" }));
  const human = { givenName: "Augusta", familyName: "King", address, language: "de-CH" };
  expect(done(await client.get("/v1/users/me")).user).toMatchObject({ id: userId, human });

  // Only what is named changes, what is already so leaves no event, and an empty language is none.
  const { details } = done(await own({ language: "" }));
  expect(done(await own({ language: "" })).details.sequence).toBe(details.sequence);
  const { user } = done(await postern.admin.get(`/v1/users/${userId}`));
  expect([user.human.givenName, user.human.language]).toEqual(["Augusta", undefined]);
  expect(user.human.address).toMatchObject(address);
  const events = done(await postern.admin.get(`/v1/events?objectId=${userId}&pageSize=2`)).events;
  expect(events).toMatchObject([
    { type: "user.human_changed", actorId: userId, fact: { user: { humanChanged: { language: "" } } } },
    { type: "user.human_changed", fact: { user: { humanChanged: { address, language: "de-CH" } } } },
  ]);

  for (const language of ["german", "de_CH", "DE", "de-ch", "x".repeat(21)])
    expect(refused(await own({ language }))).toEqual([400, "VALIDATION_FAILED"]);
  expect(refused(await client.put("/v1/users/me/username", { username: "countess" }))).toEqual([
    403,
    "PERMISSION_DENIED",
  ]);
  const other = await signedUp(postern);
  expect(refused(await client.call("PATCH", `/v1/users/${other.userId}/human`, { givenName: "Eve" }))).toEqual([
    403,
    "PERMISSION_DENIED",
  ]);
  const robot = await machine(postern);
  expect(refused(await robot.client.call("PATCH", "/v1/users/me/human", { givenName: "Eve" }))).toEqual([
    400,
    "USER_NOT_HUMAN",
  ]);
});

test("mails are in the user's language, whatever the language of the call, if there are texts in it", async () => {
  const english = { "accept-language": "en" };
  for (const [language, written] of [
    ["fr-CA", "fr"],
    ["es", "es"],
    ["nl", "en"],
  ] as const) {
    const email = newAddress();
    const user = { ...person, username: name(), email, language };
    const { userId } = done(await postern.admin.post("/v1/users/human", user, english));
    expect(done(await postern.admin.get(`/v1/users/${userId}`)).user.human.language).toBe(language);
    // One that is not sent yet when another code is made is not sent at all.
    await mailsTo(postern, email);
    done(await postern.admin.post(`/v1/users/${userId}/email:resend`, {}, english));
    const subjects = (await mailsTo(postern, email, 2)).map(({ subject }) => subject);
    expect(new Set(subjects)).toEqual(new Set([mailTexts.verify_email[written].subject]));
    done(await postern.admin.post(`/v1/users/${userId}/email`, { email, isVerified: true }));
    done(await postern.admin.put(`/v1/users/${userId}/password`, { newPassword: "Green-Teapot-43" }, english));
    const [, , notice] = await mailsTo(postern, email, 3);
    expect(notice?.subject).toBe(mailTexts.password_changed[written].subject);
  }
});

test("where the policy allows it, people delete themselves: at once, with a mail, and for some days not for good", async () => {
  const { organizationId, userId, username, password, client } = await free();
  const email = newAddress();
  done(await postern.admin.post(`/v1/users/${userId}/email`, { email, isVerified: true }));
  done(await client.call("PATCH", "/v1/users/me/human", { language: "de" }));
  expect(done(await client.get("/v1/policies/privacy")).policy).toEqual({ restoreDays: 5, selfErasure: true });

  const { erasureDate, jobId } = done(await client.post("/v1/users/me:erase"));
  expect([Math.round((Date.parse(erasureDate) - Date.now()) / 86_400_000), jobId]).toEqual([5, undefined]);
  expect((await client.get("/v1/users/me")).status).toBe(401);
  const signIn = () => postern.as().post("/v1/sessions", { loginName: username, password });
  expect(refused(await signIn())).toEqual([401, "SIGN_IN_FAILED"]);
  const [mail] = await mailsTo(postern, email);
  expect([mail?.subject, mail?.text]).toEqual([
    mailTexts.account_deleted.de.subject,
    expect.stringContaining(username),
  ]);
  const [event] = done(
    await postern.admin.get(`/v1/events?objectId=${userId}&pageSize=1`, within(organizationId)),
  ).events;
  expect(event).toMatchObject({ type: "user.erasure_scheduled", actorId: userId });

  const owner = await signedUp(postern, { organizationId });
  const roles = { userId: owner.userId, roles: ["ORG_OWNER"] };
  done(await postern.admin.post("/v1/members", roles, within(organizationId)));
  done(await owner.client.post(`/v1/users/${userId}:restore`));
  done(await signIn());
});

test("without days to restore them, people who delete themselves are erased at once", async () => {
  const { client, userId, organizationId } = await free(0);
  const { jobId, erasureDate } = done(await client.post("/v1/users/me:erase"));
  expect(erasureDate).toBeUndefined();
  if (jobId) done(await postern.admin.get(`/v1/jobs/${jobId}:wait?instance=true&timeoutSeconds=50`));
  const [event] = done(
    await postern.admin.get(`/v1/events?objectId=${userId}&pageSize=1`, within(organizationId)),
  ).events;
  expect(event.type).toBe("user.erased");
});

test("whoever took over an account cannot delete it while its former address can take it back", async () => {
  const { userId, client } = await free(0);
  const [email, stolen] = [newAddress(), newAddress()];
  done(await postern.admin.post(`/v1/users/${userId}/email`, { email, isVerified: true }));
  done(await client.post("/v1/users/me/email", { email: stolen }));
  const erase = () => client.post("/v1/users/me:erase");
  expect(refused(await erase())).toEqual([400, "EMAIL_UNDOABLE"]);
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update mail_codes set expiration_date = now() where user_id = ${userId} and purpose = 'undo'`;
  done(await erase());
});

test("nobody deletes themselves by a token, an old sign-in or as the last owner, and no machine does", async () => {
  const { client, userId, organizationId, username, password } = await free();
  const erase = (by: typeof client) => by.post("/v1/users/me:erase");
  const token = done(await postern.admin.post(`/v1/users/${userId}/tokens`)).token;
  expect(refused(await erase(postern.as(token)))).toEqual([400, "SIGN_IN_NOT_FRESH"]);
  const stale = postern.as(done(await postern.as().post("/v1/sessions", { loginName: username, password })).token);
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`update sessions set created = created - interval '11 minutes' where session_id =
    (select session_id from sessions where user_id = ${userId} order by session_id desc limit 1)`;
  expect(refused(await erase(stale))).toEqual([400, "SIGN_IN_NOT_FRESH"]);

  done(await postern.admin.post("/v1/members", { userId, roles: ["ORG_OWNER"] }, within(organizationId)));
  expect(refused(await erase(client))).toEqual([400, "LAST_OWNER"]);
  const robot = await machine(postern, { organizationId });
  expect(refused(await erase(robot.client))).toEqual([400, "USER_NOT_HUMAN"]);
  // The organization's own policy counts, and the built-in one leaves deletions to administrators.
  const { client: guarded } = await signedUp(postern);
  expect(refused(await erase(guarded))).toEqual([400, "SELF_ERASURE_OFF"]);
  expect(done(await guarded.get("/v1/users/me")).user.state).toBe("USER_STATE_ACTIVE");
});
