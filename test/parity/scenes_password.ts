import { machine, signedUp } from "../harness.ts";
import { fresh, limits, malformed, person, type Scene, type Stage, within } from "./stage.ts";

const rpc = "AccountService.ChangePassword";
const newPassword = "Green-Teapot-77";
const typed = "the binary format has no wrong types";
const fieldsOnly = "a client of JSON that is newer than the server is refused, and that is a scene of its own";

/** Somebody who changes the password, with a look at which one signs in afterwards. */
async function changer(stage: Stage, request: Record<string, string> = {}) {
  const { client, username, password } = await person(stage);
  const signIn = (one: string) => stage.postern.as().post("/v1/sessions", { loginName: username, password: one });
  const see = async () => [(await signIn(password)).status, (await signIn(newPassword)).status];
  return { request: { oldPassword: password, newPassword, ...request }, by: client, see };
}

const wrongly = (name: string, request: Record<string, string>, fields: string[], says: Scene["says"]): Scene => ({
  ...{ rpc, name, says, fields },
  given: (stage) => changer(stage, request),
});

const unread = (name: string, json: string, fields: string[]): Scene => ({
  ...{ rpc, name, says: "VALIDATION_FAILED", fields, not: { binary: typed } },
  malformed: malformed.fields,
  given: async (stage) => ({ ...(await changer(stage)), raw: { json } }),
});

/** Every way in which the change of a password can end. */
export const passwordScenes: readonly Scene[] = [
  { rpc, name: "changes it", says: "OK", given: (stage) => changer(stage) },
  {
    ...{ rpc, name: "a password of any script is compared as it is", says: "OK" },
    given: (stage) => changer(stage, { newPassword: "Zoë-🦊-名前-1234-Ab" }),
  },
  wrongly("the old one is wrong", { oldPassword: "Not-The-One-1" }, ["oldPassword"], "PASSWORD_MISMATCH"),
  wrongly("the old one again", { newPassword: "Blue-Kettle-42" }, ["newPassword"], "PASSWORD_UNCHANGED"),
  wrongly("both are empty", { oldPassword: "", newPassword: "" }, ["oldPassword", "newPassword"], "VALIDATION_FAILED"),
  wrongly("U+0000 in a password", { newPassword: "Green\u0000Teapot-77" }, ["newPassword"], "VALIDATION_FAILED"),
  {
    ...{ rpc, name: "every broken rule of the policy at once", says: "PASSWORD_POLICY" },
    given: (stage) => changer(stage, { newPassword: "kettle" }),
  },
  {
    ...{ rpc, name: "a common password", says: "PASSWORD_POLICY", fields: ["newPassword"] },
    given: (stage) => changer(stage, { newPassword: "Password1!" }),
  },
  {
    ...{ rpc, name: "longer than a password may be", says: "PASSWORD_POLICY", fields: ["newPassword"] },
    given: (stage) => changer(stage, { newPassword: `Aa1-${"é".repeat(500)}` }),
  },
  {
    ...{ rpc, name: "of more characters than any has", says: "VALIDATION_FAILED", fields: ["newPassword"] },
    given: (stage) => changer(stage, { newPassword: `Aa1-${"x".repeat(1000)}` }),
  },
  {
    ...{
      rpc,
      name: "the one before the last, where a history is kept",
      says: "PASSWORD_REUSED",
      fields: ["newPassword"],
    },
    async given(stage) {
      const { client, password } = await signedUp(stage.postern, { organizationId: stage.historic });
      await client.put("/v1/users/me/password", { oldPassword: password, newPassword });
      return { request: { oldPassword: newPassword, newPassword: password }, by: client };
    },
  },
  {
    ...{ rpc, name: "after too many wrong ones", says: "PASSWORD_ATTEMPTS" },
    async given(stage) {
      const { client, password } = await signedUp(stage.postern, { organizationId: stage.strict });
      await client.put("/v1/users/me/password", { oldPassword: "Not-The-One-1", newPassword });
      return { request: { oldPassword: password, newPassword }, by: client };
    },
  },
  {
    ...{ rpc, name: "of a machine", says: "USER_NOT_HUMAN" },
    given: ({ stranger }) => ({ request: { oldPassword: "a", newPassword }, by: stranger }),
  },
  {
    ...{ rpc, name: "of a human without one", says: "PASSWORD_MISSING" },
    async given({ postern, admin, fixture }) {
      const { token } = (await admin.post(`/v1/users/${await fixture.newUser()}/tokens`)).body;
      return { request: { oldPassword: "a", newPassword }, by: postern.as(token) };
    },
  },
  {
    ...{ rpc, name: "without a token", says: "UNAUTHENTICATED" },
    given: ({ postern }) => ({ request: { oldPassword: "a", newPassword }, by: postern.as() }),
  },
  {
    ...{ rpc, name: "with a token that is none", says: "TOKEN_INVALID" },
    given: ({ postern }) => ({ request: { oldPassword: "a", newPassword }, by: postern.as("pt_abc") }),
  },
  {
    ...{ rpc, name: "with a token that is revoked", says: "TOKEN_INVALID" },
    async given({ postern, admin }) {
      const { userId, tokenId, client } = await machine(postern);
      await admin.delete(`/v1/users/${userId}/tokens/${tokenId}`);
      return { request: { oldPassword: "a", newPassword }, by: client };
    },
  },
  {
    ...{ rpc, name: "an empty body", says: "VALIDATION_FAILED", fields: ["oldPassword", "newPassword"] },
    malformed: malformed.empty,
    given: async (stage) => ({ ...(await changer(stage)), raw: { json: "", binary: Buffer.of() } }),
  },
  {
    ...{ rpc, name: "a body that is cut off", says: "MALFORMED_BODY", malformed: malformed.bytes },
    given: async (stage) => ({ ...(await changer(stage)), raw: { json: '{"oldPassw', binary: Buffer.of(10, 9, 65) } }),
  },
  {
    ...{ rpc, name: "bytes that are not UTF-8", says: "MALFORMED_BODY", malformed: malformed.bytes },
    async given(stage) {
      const json = Buffer.concat([
        Buffer.from('{"oldPassword":"'),
        Buffer.of(0xff),
        Buffer.from('","newPassword":"a"}'),
      ]);
      return { ...(await changer(stage)), raw: { json, binary: Buffer.of(10, 1, 0xff, 18, 1, 65) } };
    },
  },
  {
    ...{ rpc, name: "larger than a message may be", says: "BODY_TOO_LARGE", malformed: malformed.size },
    given: (stage) => changer(stage, { newPassword: "x".repeat(limits.messageMaxBytes) }),
  },
  {
    ...{ rpc, name: "a field that the binary format does not know", says: "OK", not: { json: fieldsOnly } },
    async given(stage) {
      const change = await changer(stage);
      const { oldPassword } = change.request;
      const fields = [tagged(10, oldPassword), tagged(18, newPassword), tagged(0x7a, "from a newer contract")];
      return { ...change, raw: { binary: Buffer.concat(fields) } };
    },
  },
  ...[
    unread(
      "fields that are unknown, each by its path",
      '{"oldPassword":"a","newPassword":"b","newPasswort":"c","x":{}}',
      ["newPasswort", "x"],
    ),
    unread("values of the wrong type", '{"oldPassword":1,"newPassword":["b"]}', ["oldPassword", "newPassword"]),
    unread("a key that is there twice", '{"oldPassword":"a","newPassword":"b","newPassword":"c"}', ["newPassword"]),
    unread("a field in both spellings", '{"oldPassword":"a","newPassword":"b","new_password":"c"}', ["new_password"]),
  ],
  {
    ...{ rpc, name: "a body that is no object", says: "MALFORMED_BODY", not: { binary: typed } },
    malformed: malformed.bytes,
    given: async (stage) => ({ ...(await changer(stage)), raw: { json: "[]" } }),
  },
  {
    ...{ rpc, name: "in German", says: "PASSWORD_MISMATCH", fields: ["oldPassword"] },
    async given(stage) {
      const headers = { "accept-language": "de-CH, fr;q=0.5" };
      return { ...(await changer(stage, { oldPassword: "Not-The-One-1" })), headers };
    },
  },
  {
    ...{ rpc, name: "the header of an organization means nothing here", says: "OK" },
    given: async (stage) => ({ ...(await changer(stage)), headers: within("no-such-organization") }),
  },
  {
    ...{ rpc, name: "a key is answered again, whichever door it was used at first", says: "OK" },
    async given(stage) {
      const change = await changer(stage);
      const headers = { "idempotency-key": fresh("key").replace(" ", "-") };
      const first = await change.by.put("/v1/users/me/password", change.request, headers);
      return { ...change, headers, answer: first.body };
    },
  },
  {
    ...{ rpc, name: "a key with another body", says: "IDEMPOTENCY_KEY_REUSED" },
    async given(stage) {
      const change = await changer(stage);
      const headers = { "idempotency-key": fresh("key").replace(" ", "-") };
      await change.by.put("/v1/users/me/password", { ...change.request, newPassword: "Red-Saucer-11" }, headers);
      return { ...change, headers };
    },
  },
  {
    ...{ rpc, name: "a key that is none", says: "VALIDATION_FAILED", fields: ["idempotency-key"] },
    given: async (stage) => ({ ...(await changer(stage)), headers: { "idempotency-key": "two words" } }),
  },
];

function tagged(tag: number, text: string): Buffer {
  return Buffer.concat([Buffer.of(tag, Buffer.byteLength(text)), Buffer.from(text)]);
}
