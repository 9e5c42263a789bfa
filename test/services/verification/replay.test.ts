import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, type Client, type Postern, signedUp } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { ask as askDatabase } from "../../postgres/embedded/holder.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";

let nodes: TwoNodes;
beforeAll(async () => {
  nodes = await startTwoNodes({ mailSendsPerUser: 100, mailSendsPerAddress: 100 });
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

/** A user to whom codes are issued; its client is that of a session. */
type Person = {
  readonly userId: string;
  readonly username: string;
  readonly email: string;
  readonly password: string;
  readonly client: Client;
};

/** A kind of code: how one is issued to a user, and how it is presented. */
type Kind = {
  readonly table: "phone_codes" | "mail_codes";
  readonly person: () => Promise<Person>;
  readonly issue: (to: Person) => Promise<string>;
  readonly present: (code: string, by: Presenter) => Promise<Answer>;
  /** The reason of the refusal of a code that was used, of one that a newer one replaced, and of one that has expired. */
  readonly used: string;
  readonly replaced: string | undefined;
  readonly expired: string;
};

/** The node, the user that a presentation names, and the caller where it is not the administrator. */
type Presenter = { readonly node?: Postern; readonly as: Person; readonly caller?: Client };

const hex = () => randomBytes(6).toString("hex");
const reasonOf = ({ status, body }: Answer) =>
  status === 200 ? "OK" : body.details?.find((one: { "@type": string }) => one["@type"].endsWith(".ErrorInfo"))?.reason;
const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};

let numbers = 0;
const newNumber = () => `+4179${String(6_000_000 + ++numbers)}`;
const setEmail = async ({ userId }: { userId: string }, email: string, mode: object) =>
  done(await nodes.one.admin.post(`/v1/users/${userId}/email`, { email, ...mode }));

async function member(): Promise<Person> {
  const user = await signedUp(nodes.one);
  return { ...user, email: `${user.username}@example.com` };
}

/** A member whose address is verified, so that it may forget its password. */
async function reachable(): Promise<Person> {
  const user = await member();
  await setEmail(user, user.email, { isVerified: true });
  return user;
}

/** A user without a password. */
async function newcomer(): Promise<Person> {
  const username = `new-${hex()}`;
  const names = { username, givenName: "Ada", familyName: "Byron", email: `${username}@example.com` };
  const { userId } = done(await nodes.one.admin.post("/v1/users/human", names));
  return { ...names, userId, password: "", client: nodes.one.as() };
}

const verified = (noun: "phone" | "email") => (code: string, by: Presenter) => {
  const { node = nodes.one, as, caller = node.admin } = by;
  return caller.post(`/v1/users/${as.userId}/${noun}:verify`, { verificationCode: code });
};

const newPassword = () => `Green-Teapot-${hex()}`;
const complete: Kind["present"] = (code, { node = nodes.one }) =>
  node.as().post("/v1/password-resets:complete", { verificationCode: code, newPassword: newPassword() });

const resetCode = /\b[2-9B-Z]{4}(-[2-9B-Z]{4}){3}\b/;

/** Asks for a new password, and reads the code from the mail. */
async function forgotten({ email }: Person): Promise<string> {
  const before = (await mailsTo(nodes.one, email, 0, resetCode)).length;
  done(await nodes.one.as().post("/v1/password-resets", { email }));
  const text = (await mailsTo(nodes.one, email, before + 1, resetCode)).at(-1)?.text ?? "";
  return resetCode.exec(text)?.[0] ?? expect.unreachable(text);
}

const kinds: Readonly<Record<string, Kind>> = {
  "that proves a phone number": {
    table: "phone_codes",
    person: member,
    issue: async ({ userId }) => {
      const phone = { phone: newNumber(), returnCode: {} };
      return done(await nodes.one.admin.post(`/v1/users/${userId}/phone`, phone)).verificationCode;
    },
    present: verified("phone"),
    used: "PHONE_VERIFIED",
    replaced: "CODE_INVALID",
    expired: "CODE_EXPIRED",
  },
  "that proves an address": {
    table: "mail_codes",
    person: member,
    issue: async (user) =>
      (await setEmail(user, `ada.${hex()}@example.com`, { returnCode: {} })).verificationCode as string,
    present: verified("email"),
    used: "EMAIL_VERIFIED",
    replaced: "CODE_INVALID",
    expired: "CODE_EXPIRED",
  },
  "of a forgotten password": {
    table: "mail_codes",
    person: reachable,
    issue: forgotten,
    present: complete,
    used: "CODE_INVALID",
    // Strangers could keep a user from its reset otherwise.
    replaced: undefined,
    expired: "CODE_INVALID",
  },
  "of an invitation": {
    table: "mail_codes",
    person: newcomer,
    issue: async ({ userId }) =>
      done(await nodes.one.admin.post(`/v1/users/${userId}:invite`, { returnCode: {} })).verificationCode,
    present: complete,
    used: "CODE_INVALID",
    replaced: undefined,
    expired: "CODE_INVALID",
  },
};

describe.each(Object.entries(kinds))("a code %s", (_, kind) => {
  const { person, issue, present } = kind;

  test("is worth nothing once it was used, on either node", async () => {
    const as = await person();
    const code = await issue(as);
    done(await present(code, { as }));
    for (const node of [nodes.one, nodes.two]) expect(reasonOf(await present(code, { as, node }))).toBe(kind.used);
  });

  test("that comes to both nodes several times at once succeeds once", async () => {
    const as = await person();
    const code = await issue(as);
    const presented = Array.from({ length: 8 }, (_, nth) => present(code, { as, node: nodes.through(nth) }));
    const answers = await Promise.all(presented);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
  });

  test("is worth nothing once a later one was used", async () => {
    const as = await person();
    const [first, later] = [await issue(as), await issue(as)];
    if (kind.replaced) expect(reasonOf(await present(first, { as }))).toBe(kind.replaced);
    done(await present(later, { as, node: nodes.two }));
    expect(reasonOf(await present(first, { as }))).toBe(kind.used);
  });

  test("is worth nothing after its time", async () => {
    const as = await person();
    const code = await issue(as);
    await askDatabase(
      nodes.databaseUrl,
      `update ${kind.table} set expiration_date = now() - interval '1 second' where user_id = '${as.userId}'`,
    );
    for (const node of [nodes.one, nodes.two]) expect(reasonOf(await present(code, { as, node }))).toBe(kind.expired);
  });

  test("is worth nothing where a code of another kind is asked for", async () => {
    const as = await person();
    const code = await issue(as);
    for (const [name, other] of Object.entries(kinds)) {
      if (other.present === present) continue;
      // The same user, where one can have both: then only the purpose keeps them apart.
      const one = other.person === person ? as : await other.person();
      await other.issue(one);
      expect(reasonOf(await other.present(code, { as: one })), name).toBe("CODE_INVALID");
    }
    done(await present(code, { as }));
  });
});

const numbersAndAddresses = ["that proves a phone number", "that proves an address"] as const;

describe.each(numbersAndAddresses)("a code %s", (name) => {
  const { person, issue, present } = kinds[name] ?? expect.unreachable();

  test("of one user proves nothing for another one, and is not for the other to present", async () => {
    const [one, other] = [await person(), await person()];
    const [code, own] = [await issue(one), await issue(other)];
    expect(reasonOf(await present(code, { as: other, caller: other.client }))).toBe("CODE_INVALID");
    expect((await present(code, { as: one, caller: other.client })).status).toBe(403);
    done(await present(own, { as: other, caller: other.client }));
    done(await present(code, { as: one, caller: one.client }));
  });

  test("is worth nothing to a session that a change of the password ended", async () => {
    const as = await person();
    const code = await issue(as);
    done(await nodes.one.admin.put(`/v1/users/${as.userId}/password`, { newPassword: newPassword() }));
    for (const node of [nodes.one, nodes.two])
      await expect
        .poll(async () => (await present(code, { as, node, caller: node.as(as.client.token) })).status)
        .toBe(401);
  });
});

test("a code of a forgotten password sets the password of its own user only", async () => {
  const [one, other] = [await reachable(), await reachable()];
  const [code] = [await forgotten(one), await forgotten(other)];
  const chosen = newPassword();
  done(await nodes.one.as().post("/v1/password-resets:complete", { verificationCode: code, newPassword: chosen }));
  const signIn = (loginName: string, password: string) => nodes.two.as().post("/v1/sessions", { loginName, password });
  expect((await signIn(other.username, chosen)).status).toBe(401);
  done(await signIn(other.username, other.password));
  done(await signIn(one.username, chosen));
});

test.each(["of a forgotten password", "of an invitation"])("a code %s ends with any new password", async (name) => {
  const { person, issue, present } = kinds[name] ?? expect.unreachable();
  const as = await person();
  const code = await issue(as);
  done(await nodes.one.admin.put(`/v1/users/${as.userId}/password`, { newPassword: newPassword() }));
  for (const node of [nodes.one, nodes.two]) expect(reasonOf(await present(code, { as, node }))).toBe("CODE_INVALID");
});
