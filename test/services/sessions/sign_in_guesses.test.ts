import { afterAll, beforeAll, expect, test } from "vitest";
import { newId, systemCall } from "../../../src/deps.ts";
import { errorText } from "../../../src/messages/catalogue.ts";
import { signInsOf } from "../../../src/services/sessions/sign_in.ts";
import { unique } from "../../events/log_of.ts";
import { patternOf } from "../../fixture/text_pattern.ts";
import { type Answer, organization, type Postern, sharedPostern } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { openHandlers } from "../../sent_statements.ts";
import { countedHashes } from "./counted_hashes.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const password = "Blue-Kettle-42";

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });
const emailCode = /^[2-9B-Z]{6}$/m;

/** A user with a proven address, and what may be typed for them, with the organization of the request. */
async function person(organizationId: string, username: string, email: string) {
  const human = { username, givenName: "Jane", familyName: "Doe", email, password };
  const made = await postern.admin.post(
    "/v1/users:batchCreate",
    { items: [{ human }], sendEmailCodes: true },
    inside(organizationId),
  );
  const { userId } = done(made).outcomes[0].created;
  const [mail] = await mailsTo(postern, email, 1, emailCode);
  const verificationCode = emailCode.exec(mail?.text ?? "")?.[0];
  done(await postern.admin.post(`/v1/users/${userId}/email:verify`, { verificationCode }));
  return userId as string;
}

type Typed = readonly [loginName: string, organizationId?: string];

/** A user of the directory, and a user of an organization with own names and two domains, with every way to name them. */
async function everySpelling(): Promise<readonly (readonly Typed[])[]> {
  const directory = await organization(postern);
  const joe = unique("joe");
  await person(directory, joe, `${joe}@example.com`);
  const { organizationId: own } = done(
    await postern.admin.post("/v1/organizations", { name: unique("Customer"), ownLoginNames: true }),
  );
  const [first, second] = [`${unique("firm")}.example`, `${unique("bücher")}.example`];
  for (const name of [first, second])
    done(await postern.admin.post("/v1/domains", { name, withoutDns: true }, inside(own)));
  await person(own, "jane", `jane.doe@${first}`);
  const ascii = new URL(`http://${second}`).hostname;
  const spelled = (names: readonly string[], organizationId: string): Typed[] =>
    names.flatMap((name) => [
      [name, organizationId],
      [`${name}@${organizationId}`],
      [`${name}@${organizationId}`, organizationId],
    ]);
  const alone = (names: readonly string[]): Typed[] => names.map((name) => [name]);
  const ofJoe = [joe, joe.toUpperCase(), `${joe}@example.com`, `${joe.toUpperCase()}＠EXAMPLE。com.`];
  const withDomain = [
    `jane@${first}`,
    `JANE@${second}.`,
    `ｊａｎｅ@${ascii}`,
    `jane.doe@${first}`,
    `Jane.Doe＠${first.toUpperCase()}.`,
  ];
  return [
    [...alone(ofJoe), ...spelled(ofJoe, directory), [`${joe}@${directory.toUpperCase()}`]],
    [...alone(withDomain), ...spelled(["jane", ...withDomain], own), [`jane@${own.toUpperCase()}`]],
  ];
}

/** Two nodes, in turn: they guess a password, and tell how often somebody's hash has been checked. */
function twoNodes() {
  const stack = new AsyncDisposableStack();
  let checks = 0;
  const nodes = [0, 1].map(() => {
    const { deps } = stack.use(openHandlers(postern));
    const secrets = countedHashes(deps.secrets, (checked) => {
      if (checked === "user") checks++;
    });
    return signInsOf({ ...deps, secrets }, postern.config);
  });
  let turn = 0;
  const guess = async ([loginName, organizationId]: Typed): Promise<string> => {
    const call = systemCall(newId());
    const request = { loginName, organizationId, password: "Wrong-Kettle-42", newPassword: undefined, browsers: [] };
    // biome-ignore lint/suspicious/noExplicitAny: no session begins.
    const guessed = nodes[turn++ % 2]?.signIn({ ...request, call }, {} as any);
    return (await guessed?.then(String, ({ message }: Error) => message)) ?? "";
  };
  return { guess, checked: () => checks, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const wrong = patternOf(errorText("SIGN_IN_FAILED"));
const waits = /wait|attempts|later/i;

test("however a user is named, and whichever node is asked, only as many passwords are tried as for one name", async () => {
  await using nodes = twoNodes();
  for (const spellings of await everySpelling()) {
    const before = nodes.checked();
    // One after another: the eleventh guess waits, by whatever name.
    const answers: string[] = [];
    for (const typed of spellings.slice(0, 10)) answers.push(await nodes.guess(typed));
    expect(answers).toEqual(Array(10).fill(expect.stringMatching(wrong)));
    expect(nodes.checked() - before).toBe(10);
    for (const typed of spellings)
      expect([typed, await nodes.guess(typed)]).toEqual([typed, expect.stringMatching(waits)]);
    expect(nodes.checked() - before).toBe(10);
  }
});

test("guesses at one user by many names at once are no more than those that the policy allows", async () => {
  await using nodes = twoNodes();
  for (const spellings of await everySpelling()) {
    const before = nodes.checked();
    await Promise.all([...spellings, ...spellings, ...spellings].map(nodes.guess));
    expect(nodes.checked() - before).toBe(10);
  }
});
