import { randomBytes } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Client } from "../harness.ts";
import { made, person, type Scene, type Stage } from "./stage.ts";

type Extras = Pick<Scene, "fields" | "not">;

const scene = (name: string, says: Scene["says"], given: Scene["given"], extras: Extras = {}): Scene => ({
  ...{ rpc: "UserService.ChangeEmail", name, says, given },
  ...extras,
});
const of = (rpc: string, name: string, says: Scene["says"], given: Scene["given"]): Scene => ({
  ...{ rpc: `UserService.${rpc}`, name, says, given },
});

/** An address that hardly anybody else has. */
const newAddress = () => `ada.${randomBytes(6).toString("hex")}@example.com`;

/** A change of a new user's address by the administrator, with a look at the user afterwards. */
async function change(stage: Stage, request: JsonObject = {}) {
  return changeOf(stage, await stage.fixture.newUser(), request);
}

function changeOf({ admin }: Stage, userId: string, request: JsonObject, by: Client = admin) {
  const see = async () => (await admin.get(`/v1/users/${userId}`)).body.user;
  return { request: { userId, email: newAddress(), ...request }, by, see };
}

async function own(stage: Stage, request: JsonObject = {}) {
  const { userId, client } = await person(stage);
  return changeOf(stage, userId, request, client);
}

async function again(stage: Stage, first: JsonObject, second: JsonObject) {
  const userId = await stage.fixture.newUser();
  const email = newAddress();
  await made(stage.admin, `/v1/users/${userId}/email`, { email, ...first });
  return changeOf(stage, userId, { email, ...second });
}

/** The code of a new user, with a look at the user afterwards. */
async function coded({ admin, fixture }: Stage) {
  const { userId, code } = await fixture.newEmail();
  return { userId, code, see: async () => (await admin.get(`/v1/users/${userId}`)).body.user };
}

const [sendCode, returnCode, isVerified] = [{}, {}, true];
const exclusive = (request: JsonObject) =>
  scene(
    `${Object.keys(request).join(" and ")} exclude each other`,
    "VALIDATION_FAILED",
    (stage) => change(stage, request),
    {
      fields: Object.keys(request),
    },
  );
const invalid = (email: string, says: Scene["says"] = "VALIDATION_FAILED") =>
  scene(`${email} is no address`, says, (stage) => change(stage, { email }), { fields: ["email"] });

/** Every way in which the change of an e-mail address can end, and the ends of its codes. */
export const emailScenes: readonly Scene[] = [
  scene("a code is sent when nothing is asked", "OK", (stage) => change(stage)),
  scene("a code is sent", "OK", (stage) => change(stage, { sendCode })),
  scene("a code is answered", "OK", (stage) => change(stage, { returnCode })),
  scene("stored as verified", "OK", (stage) => change(stage, { isVerified })),
  scene("one's own", "OK", (stage) => own(stage)),
  scene("one's own, verified", "PERMISSION_DENIED", (stage) => own(stage, { isVerified })),
  scene("one's own, with the code answered", "PERMISSION_DENIED", (stage) => own(stage, { returnCode })),
  scene("the same address, verified", "EMAIL_UNCHANGED", (stage) => again(stage, { isVerified }, { isVerified })),
  scene("the same address, no longer verified", "OK", (stage) => again(stage, { isVerified }, { isVerified: false })),
  ...[exclusive({ sendCode, returnCode }), exclusive({ sendCode, isVerified }), exclusive({ returnCode, isVerified })],
  ...["", "ada", "ada@example.com, eve@example.com", "ada@example.com\r\nBcc: eve@example.com"].map((one) =>
    invalid(one),
  ),
  ...["a..da@example.com", `${"a".repeat(65)}@example.com`].map((one) => invalid(one, "EMAIL_INVALID")),
  scene("somebody else's, without the permission", "PERMISSION_DENIED", async (stage) => ({
    ...(await change(stage)),
    by: stage.stranger,
  })),
  scene("of a user who does not exist", "USER_NOT_FOUND", () => ({
    request: { userId: "nobody", email: "ada@example.com" },
  })),
  of("VerifyEmail", "with the code", "OK", async (stage) => {
    const { userId, code, see } = await coded(stage);
    return { request: { userId, verificationCode: code }, see };
  }),
  of("VerifyEmail", "with another code", "CODE_INVALID", async (stage) => {
    const { userId, code, see } = await coded(stage);
    return { request: { userId, verificationCode: (code.startsWith("2") ? "3" : "2") + code.slice(1) }, see };
  }),
  of("VerifyEmail", "without a code in force", "CODE_EXPIRED", async (stage) => ({
    request: { userId: (await person(stage)).userId, verificationCode: "234567" },
  })),
  of("ResendEmailCode", "a code is answered", "OK", async (stage) => {
    const { userId, see } = await coded(stage);
    return { request: { userId, returnCode }, see };
  }),
  of("ResendEmailCode", "of a verified address", "EMAIL_VERIFIED", async ({ admin, fixture }) => {
    const userId = await fixture.newUser();
    await made(admin, `/v1/users/${userId}/email`, { email: newAddress(), isVerified });
    return { request: { userId } };
  }),
];
