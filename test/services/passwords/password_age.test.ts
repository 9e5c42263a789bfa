import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, organization, type Postern, signedUp, startPostern } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { openProbe, type Probe } from "../../probe.ts";

let postern: Postern;
let probe: Probe;
beforeAll(async () => {
  postern = await startPostern({ mailSendsPerUser: 50 });
  probe = openProbe(postern.databaseUrl);
});
afterAll(async () => {
  await probe?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

const newPassword = "Green-Teapot-77";
const refused = ({ status, body }: Answer) => [status, body.details[0]?.reason];
const answered = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const signIn = (loginName: string, password: string, more: object = {}) =>
  postern.as().post("/v1/sessions", { loginName, password, ...more });

/** A user who has signed in once, in an organization whose policy is set after that. */
async function personUnder(policy: object) {
  const organizationId = await organization(postern);
  const person = await signedUp(postern, { organizationId });
  const set = { policy: { minimumLength: 8, ...policy } };
  answered(await postern.admin.put("/v1/policies/password", set, { "x-service-orgid": organizationId }));
  return person;
}
const aged = (userId: string, days: number) =>
  probe.sql`update passwords set changed = now() - make_interval(days => ${days}) where user_id = ${userId}`;

test("a password that an administrator set is changed at the next sign-in, which signs in", async () => {
  const { userId, username, password, client } = await personUnder({ changeAtNextSignIn: true });
  expect(refused(await signIn(username, password))).toEqual([400, "PASSWORD_CHANGE_REQUIRED"]);
  const { token } = answered(await signIn(username, password, { newPassword }));
  expect(answered(await postern.as(token).get("/v1/users/me")).user.id).toBe(userId);
  expect(refused(await client.get("/v1/users/me"))).toEqual([401, "TOKEN_INVALID"]);
  expect(refused(await signIn(username, password))).toEqual([401, "SIGN_IN_FAILED"]);
  answered(await signIn(username, newPassword));

  answered(await postern.admin.put(`/v1/users/${userId}/password`, { newPassword: "Blue-Teapot-78" }));
  expect(refused(await signIn(username, "Blue-Teapot-78"))).toEqual([400, "PASSWORD_CHANGE_REQUIRED"]);
});

test("a password that its user chose, by the old one or by a code, need not be changed", async () => {
  const { username, password, client } = await personUnder({ changeAtNextSignIn: true });
  answered(await client.put("/v1/users/me/password", { oldPassword: password, newPassword }));
  answered(await signIn(username, newPassword));

  const invited = await personUnder({ changeAtNextSignIn: true });
  await probe.sql`delete from passwords where user_id = ${invited.userId}`;
  const { verificationCode } = answered(
    await postern.admin.post(`/v1/users/${invited.userId}:invite`, { returnCode: {} }),
  );
  answered(await postern.as().post("/v1/password-resets:complete", { verificationCode, newPassword }));
  answered(await signIn(invited.username, newPassword));
});

test("an old password is changed at sign-in; sessions that are open go on", async () => {
  const { userId, username, password, client } = await personUnder({ maximumAgeDays: 30 });
  await aged(userId, 29);
  answered(await signIn(username, password));
  await aged(userId, 30);
  expect(refused(await signIn(username, password))).toEqual([400, "PASSWORD_CHANGE_REQUIRED"]);
  answered(await client.get("/v1/users/me"));
  answered(await signIn(username, password, { newPassword }));
  answered(await signIn(username, newPassword));
});

test("without a policy no password must be changed, and a new one may come along all the same", async () => {
  const { userId, username, password } = await personUnder({});
  await aged(userId, 5000);
  answered(await signIn(username, password));
  answered(await signIn(username, password, { newPassword }));
  answered(await signIn(username, newPassword));
});

test("a wrong password learns nothing of it, and a new one is checked as any other", async () => {
  const { username, password } = await personUnder({ changeAtNextSignIn: true, historyDepth: 2 });
  expect(refused(await signIn(username, "wrong"))).toEqual([401, "SIGN_IN_FAILED"]);
  expect(refused(await signIn(username, "wrong", { newPassword }))).toEqual([401, "SIGN_IN_FAILED"]);
  expect(refused(await signIn(`nobody-${randomBytes(4).toString("hex")}`, "wrong", { newPassword }))).toEqual([
    ...[401, "SIGN_IN_FAILED"],
  ]);
  expect(refused(await signIn(username, password, { newPassword: "short" }))).toEqual([400, "PASSWORD_POLICY"]);
  expect(refused(await signIn(username, password, { newPassword: password }))).toEqual([400, "PASSWORD_UNCHANGED"]);
  answered(await signIn(username, password, { newPassword }));
});

test("of sign-ins at once that each bring a new password, one replaces it", async () => {
  const { username, password } = await personUnder({ changeAtNextSignIn: true });
  const wanted = Array.from({ length: 4 }, (_, n) => `Green-Teapot-8${n}`);
  const answers = await Promise.all(wanted.map((one) => signIn(username, password, { newPassword: one })));
  const won = answers.flatMap(({ status }, n) => (status === 200 ? [n] : []));
  expect(won).toHaveLength(1);
  answered(await signIn(username, wanted[won[0] ?? 0] ?? ""));
  const token = answers[won[0] ?? 0]?.body.token;
  answered(await postern.as(token).get("/v1/users/me"));
});

type Person = Awaited<ReturnType<typeof signedUp>>;

/** The codes that were mailed and are still worth something. */
const codes = new Map<string, string>();

/** Sets a password by the code of a mail; one that refuses the password is left for the next try. */
async function byCode({ userId, username }: Person, newPassword: string): Promise<Answer> {
  const verificationCode = codes.get(userId) ?? (await mailedCode(userId, username));
  const answer = await postern.as().post("/v1/password-resets:complete", { verificationCode, newPassword });
  if (answer.status === 200) codes.delete(userId);
  else codes.set(userId, verificationCode);
  return answer;
}

async function mailedCode(userId: string, loginName: string): Promise<string> {
  const email = `${randomBytes(6).toString("hex")}@example.com`;
  answered(await postern.admin.post(`/v1/users/${userId}/email`, { email, isVerified: true }));
  answered(await postern.as().post("/v1/password-resets", { loginName }));
  const [mail] = await mailsTo(postern, email);
  return /code=([^\s&]+)/.exec(mail?.text ?? "")?.[1] ?? expect.unreachable(mail?.text);
}

const ways: Readonly<Record<string, (person: Person, old: string, newPassword: string) => Promise<Answer>>> = {
  async ChangePassword({ username }, oldPassword, newPassword) {
    const { token } = answered(await signIn(username, oldPassword));
    return postern.as(token).put("/v1/users/me/password", { oldPassword, newPassword });
  },
  SetPassword: ({ userId }, _, newPassword) => postern.admin.put(`/v1/users/${userId}/password`, { newPassword }),
  "the code of a mail": (person, _, newPassword) => byCode(person, newPassword),
  CreateSession: ({ username }, old, newPassword) => signIn(username, old, { newPassword }),
};

test.each(Object.keys(ways))(
  "%s refuses the password in force and as many before it as the policy says",
  async (way) => {
    const set = ways[way] ?? expect.unreachable();
    for (const historyDepth of [1, 2]) {
      const person = await personUnder({ historyDepth });
      const used = [person.password];
      for (let nth = 0; nth < historyDepth + 1; nth++) {
        for (const earlier of used) {
          const [status, reason] = refused(await set(person, used.at(-1) ?? "", earlier));
          const isUnchanged = reason === "PASSWORD_UNCHANGED" && earlier === used.at(-1);
          expect([historyDepth, nth, earlier, status, isUnchanged ? "PASSWORD_REUSED" : reason]).toEqual([
            ...[historyDepth, nth, earlier, 400, "PASSWORD_REUSED"],
          ]);
        }
        answered(await set(person, used.at(-1) ?? "", `Green-Teapot-${nth}`));
        used.push(`Green-Teapot-${nth}`);
      }
      answered(await set(person, used.at(-1) ?? "", person.password));
    }
  },
);
