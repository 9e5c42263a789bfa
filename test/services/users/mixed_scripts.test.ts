import { afterAll, beforeAll, expect, test } from "vitest";
import { text } from "../../../src/messages/catalogue.ts";
import { pageText } from "../../../src/messages/page.ts";
import { loginNameOf } from "../../../src/services/callers/login_name.ts";
import { oneConnection, unique } from "../../events/log_of.ts";
import { type Answer, machine, organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { issuerOf } from "../../provider/application.ts";
import { openBrowser } from "../../provider/browser.ts";
import { alertOf, titleOf } from "../../provider/mail_pages/mail_links.ts";
import { done, invite, linkTo, newAddress } from "../invitations/invited.ts";
import { codeOfRegistration, newcomer, registering } from "../registrations/registering.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const password = "Blue-Kettle-42";
const person = (username: string) => ({
  username,
  givenName: "Jane",
  familyName: "Doe",
  email: newAddress(),
  password,
});
const machineNamed = (username: string) => postern.admin.post("/v1/users/machine", { username, name: "Robot" });
const rename = (userId: string, username: string) => postern.admin.put(`/v1/users/${userId}/username`, { username });

/** The status of an answer, and the field and reason of its first violation. */
const refusal = ({ status, body }: Answer) => {
  const [violation] = body.details?.flatMap(({ fieldViolations = [] }) => fieldViolations) ?? [];
  return [status, violation?.field, violation?.reason];
};
const mixed = (field = "username") => [400, field, "USERNAME_MIXED_SCRIPTS"];

// The second letter is Cyrillic.
const janeOfTwo = () => `J\u0430ne-${unique("x")}`;

test.each([
  ["a Cyrillic а among Latin letters", "J\u0430ne"],
  ["a Greek ο", "r\u03bfbot"],
  ["an Armenian օ", "r\u0585bot"],
  ["a Cherokee letter", "\u13aaohn"],
  ["letters apart from the rest", "\u0430.jane"],
  ["a Latin letter among Cyrillic ones", "\u043f\u0430p\u0430"],
  ["wide letters beside Cyrillic ones", "\uff4a\u0430ne"],
  ["an address with two scripts before the @", "j\u0430ne@example.com"],
  ["an address with two scripts in a part of its domain", "jane@ex\u0430mple.com"],
])("a name with %s is refused", async (_, name) => {
  expect(refusal(await machineNamed(name))).toEqual(mixed());
});

test.each([
  "\u0438\u0432\u0430\u043d",
  "\u0438\u0432\u0430\u043d-42_\u043f",
  "\u0438\u0432\u0430\u043d@example.com",
  "jane@\u043f\u043e\u0447\u0442\u0430.example",
  "jos\u00e9.m\u00fcller",
  "\u03ba\u03ce\u03c3\u03c4\u03b1\u03c2",
  "tanaka-\u7530\u4e2d",
  "\u0639\u0644\u064a.ali",
])("the name %s is taken, because each of its parts has one of the scripts that look alike", async (name) => {
  done(await machineNamed(name));
});

test("new, renamed, imported, registered and invited names are refused alike; names of people are free", async () => {
  const { userId } = await machine(postern);
  const registered = await registering(postern);
  const code = await codeOfRegistration(postern, { organizationId: registered, email: newAddress() });
  const named = (username: string, more: object = {}) => ({ ...newcomer, ...more, username });
  expect(refusal(await postern.admin.post("/v1/users/human", person(janeOfTwo())))).toEqual(mixed());
  expect(refusal(await machineNamed(janeOfTwo()))).toEqual(mixed());
  expect(refusal(await rename(userId, janeOfTwo()))).toEqual(mixed());
  expect(refusal(await postern.as().post("/v1/registrations:complete", named(janeOfTwo(), { code })))).toEqual(mixed());
  const items = [{ human: person(unique("jane")) }, { human: person(janeOfTwo()) }];
  const batch = await postern.admin.post("/v1/users:batchCreate", { items });
  expect(JSON.stringify(done(batch).outcomes[1])).toContain("USERNAME_MIXED_SCRIPTS");
  const mixedPerson = { ...person(unique("jane")), givenName: "J\u0430ne", familyName: "\u0414oe" };
  done(await postern.admin.post("/v1/users/human", mixedPerson));
});

test("whoever accepts an invitation may not take such a name either, and the code stays good", async () => {
  const email = newAddress();
  await invite(postern.admin, { email });
  const browser = openBrowser(issuerOf(postern));
  const typed = { given_name: "Grace", family_name: "Hopper", new_password: "Green-Teapot-77" };
  const page = await browser.open(await linkTo(postern, email));
  const refused = await browser.submit(page, { ...typed, username: janeOfTwo() }, "join");
  expect([refused.status, alertOf(refused)]).toEqual([
    400,
    expect.stringContaining(text("USERNAME_MIXED_SCRIPTS", "en")),
  ]);
  expect(titleOf(await browser.submit(refused, { ...typed, username: unique("jane") }, "join"))).toBe(
    pageText("joined_title", "en"),
  );
});

test("a user of before with such a name signs in, is changed, and can have another name", async () => {
  const [organizationId, name] = [await organization(postern), janeOfTwo()];
  const { userId } = await signedUp(postern, { organizationId });
  await using client = oneConnection(postern.databaseUrl);
  await client.sql`update all_users set username = ${name} where user_id = ${userId}`;
  await client.sql`update login_names set login_name = ${loginNameOf(name)} where user_id = ${userId}`;
  done(await postern.as().post("/v1/sessions", { loginName: name, password }));
  done(await postern.admin.call("PATCH", `/v1/users/${userId}/human`, { familyName: "Doe-Byron" }));
  done(await rename(userId, unique("jane")));
});
