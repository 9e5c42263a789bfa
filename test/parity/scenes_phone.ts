import type { JsonObject } from "@bufbuild/protobuf";
import type { Client } from "../harness.ts";
import { made, malformed, newNumber, person, type Scene, type Stage, within } from "./stage.ts";

type Extras = Pick<Scene, "fields" | "not" | "malformed">;

const scene = (name: string, says: Scene["says"], given: Scene["given"], extras: Extras = {}): Scene => ({
  ...{ rpc: "UserService.ChangePhone", name, says, given },
  ...extras,
});

/** A change of a new user's phone by the administrator, with a look at the phone afterwards. */
async function change(stage: Stage, request: JsonObject = {}) {
  const userId = await stage.fixture.newUser();
  return changeOf(stage, userId, request);
}

function changeOf({ admin }: Stage, userId: string, request: JsonObject, by: Client = admin) {
  const see = async () => (await admin.get(`/v1/users/${userId}`)).body.user;
  return { request: { userId, phone: newNumber(), ...request }, by, see };
}

/** The same by the user itself. */
async function own(stage: Stage, request: JsonObject = {}) {
  const { userId, client } = await person(stage);
  return changeOf(stage, userId, request, client);
}

async function again(stage: Stage, first: JsonObject, second: JsonObject) {
  const userId = await stage.fixture.newUser();
  const phone = newNumber();
  await made(stage.admin, `/v1/users/${userId}/phone`, { phone, ...first });
  return changeOf(stage, userId, { phone, ...second });
}

const modes = { sendCode: {}, returnCode: {}, isVerified: true };
const { sendCode, returnCode, isVerified } = modes;
const exclusive = (request: JsonObject) =>
  scene(
    `${Object.keys(request).join(" and ")} exclude each other`,
    "VALIDATION_FAILED",
    (stage) => change(stage, request),
    {
      fields: Object.keys(request),
    },
  );
const invalid = (phone: string) =>
  scene(`${phone} is no phone`, "PHONE_INVALID", (stage) => change(stage, { phone }), { fields: ["phone"] });
const denied = (name: string, request: JsonObject) => scene(name, "PERMISSION_DENIED", (stage) => own(stage, request));

/** Every way in which the change of a phone can end. */
export const phoneScenes: readonly Scene[] = [
  scene("a code is sent when nothing is asked", "OK", (stage) => change(stage)),
  scene("a code is sent", "OK", (stage) => change(stage, { sendCode })),
  scene("a code is answered", "OK", (stage) => change(stage, { returnCode })),
  scene("stored as verified", "OK", (stage) => change(stage, { isVerified })),
  scene("said not to be verified", "OK", (stage) => change(stage, { isVerified: false })),
  scene("said not to be verified, and a code is answered", "OK", (stage) =>
    change(stage, { isVerified: false, returnCode }),
  ),
  scene("one's own", "OK", (stage) => own(stage)),
  scene("written with blanks and brackets", "OK", (stage) =>
    change(stage, { phone: "\u00a0+1 (415) 555-2671 ", isVerified }),
  ),
  scene("the same number, not verified yet", "OK", (stage) => again(stage, { returnCode }, { returnCode })),
  scene("the same number, verified by this", "OK", (stage) => again(stage, { returnCode }, { isVerified })),
  scene("the same number, verified", "PHONE_UNCHANGED", (stage) => again(stage, { isVerified }, { isVerified })),
  scene("the same number, verified, and nothing asked", "PHONE_UNCHANGED", (stage) => again(stage, { isVerified }, {})),
  scene("the same number, no longer verified", "OK", (stage) => again(stage, { isVerified }, { isVerified: false })),
  scene("the same number, verified, and a code is sent", "OK", (stage) => again(stage, { isVerified }, { sendCode })),
  scene("the same number, verified, and a code is answered", "OK", (stage) =>
    again(stage, { isVerified }, { returnCode }),
  ),
  ...[exclusive({ sendCode, returnCode }), exclusive({ sendCode, isVerified }), exclusive({ returnCode, isVerified })],
  exclusive(modes),
  scene(
    "modes that exclude each other, and no phone",
    "VALIDATION_FAILED",
    (stage) => change(stage, { ...modes, phone: "12" }),
    {
      fields: ["phone", "sendCode", "returnCode", "isVerified"],
    },
  ),
  scene(
    "modes that exclude each other, and a phone that is empty",
    "VALIDATION_FAILED",
    (stage) => change(stage, { phone: "", returnCode, isVerified }),
    { fields: ["phone", "returnCode", "isVerified"] },
  ),
  scene(
    "all that is wrong, of whoever it is",
    "VALIDATION_FAILED",
    () => ({ request: { userId: "u".repeat(201), phone: "12", ...modes } }),
    { fields: ["userId", "phone", "sendCode", "returnCode", "isVerified"] },
  ),
  scene(
    "a field that is unknown, modes that exclude each other, and no phone",
    "VALIDATION_FAILED",
    async (stage) => {
      const given = await change(stage, { phone: "12", returnCode, isVerified });
      return { ...given, raw: { json: JSON.stringify({ ...given.request, colour: "red" }) } };
    },
    {
      fields: ["colour", "phone", "returnCode", "isVerified"],
      not: { binary: "a newer client's fields are ignored" },
      malformed: malformed.fields,
    },
  ),
  ...["044 668 18 00", "+4179", "hello", "٠٤٤", "+41446681800 ext. 9"].map(invalid),
  scene("no phone", "VALIDATION_FAILED", (stage) => change(stage, { phone: "" }), { fields: ["phone"] }),
  scene("only blanks", "VALIDATION_FAILED", (stage) => change(stage, { phone: " \t " }), { fields: ["phone"] }),
  scene("of 201 characters", "VALIDATION_FAILED", (stage) => change(stage, { phone: "1".repeat(201) }), {
    fields: ["phone"],
  }),
  scene("with U+0000", "VALIDATION_FAILED", (stage) => change(stage, { phone: "+41\u000079" }), { fields: ["phone"] }),
  scene("of nobody and no phone", "VALIDATION_FAILED", () => ({ request: { userId: "", phone: "" }, headers: {} }), {
    fields: ["userId", "phone"],
    not: { rest: "an empty segment is another path" },
  }),
  denied("one's own, verified", { isVerified }),
  denied("one's own, with the code answered", { returnCode }),
  scene("somebody else's, without the permission", "PERMISSION_DENIED", async (stage) => ({
    ...(await change(stage)),
    by: stage.stranger,
  })),
  scene("somebody's elsewhere, by who may only read", "PERMISSION_DENIED", async (stage) => ({
    ...(await change(stage)),
    by: stage.viewer,
  })),
  scene("of somebody who holds more", "PERMISSION_DENIED", async (stage) => {
    const [manager, owner] = [await person(stage), await person(stage)];
    const headers = within(stage.fixture.organizationId);
    await made(stage.admin, "/v1/members", { userId: manager.userId, roles: ["ORG_USER_MANAGER"] }, headers);
    await made(stage.admin, "/v1/members", { userId: owner.userId, roles: ["ORG_OWNER"] }, headers);
    return changeOf(stage, owner.userId, {}, manager.client);
  }),
  scene("of a user who does not exist", "USER_NOT_FOUND", () => ({
    request: { userId: "nobody", phone: "+41446681800" },
  })),
  scene("of a user who does not exist, named in Unicode and with a slash", "USER_NOT_FOUND", () => ({
    request: { userId: "zoë/🦊 %2F", phone: "+41446681800" },
  })),
  scene("of a machine", "USER_NOT_HUMAN", async ({ viewer, postern }) => {
    const me = await postern.as(viewer.token).get("/v1/users/me");
    return { request: { userId: me.body.user.id, phone: "+41446681800" } };
  }),
  scene("a premium-rate number", "PHONE_PREMIUM_RATE", (stage) => change(stage, { phone: "+19005551234" }), {
    fields: ["phone"],
  }),
  scene("a premium-rate number that is stored as verified", "OK", (stage) =>
    change(stage, { phone: "+19005551234", isVerified }),
  ),
  scene("a premium-rate number, and modes that exclude each other", "VALIDATION_FAILED", (stage) =>
    change(stage, { phone: "+19005551234", sendCode, isVerified }),
  ),
  scene("of a user who is deactivated", "USER_INACTIVE", async (stage) => {
    const given = await change(stage);
    await made(stage.admin, `/v1/users/${given.request.userId}:deactivate`, {});
    return given;
  }),
  scene("more codes than may be sent", "SEND_LIMIT", async (stage) => {
    const userId = await stage.fixture.newUser();
    for (let sent = 0; sent < 2; sent++) await made(stage.admin, `/v1/users/${userId}/phone`, { phone: newNumber() });
    return changeOf(stage, userId, {});
  }),
  scene("without a token", "UNAUTHENTICATED", async (stage) => ({ ...(await change(stage)), by: stage.postern.as() })),
  scene("the organization of the user decides, whatever the header", "OK", async (stage) => ({
    ...(await change(stage)),
    headers: within("no-such-organization"),
  })),
  scene(
    "isVerified that is no boolean",
    "VALIDATION_FAILED",
    async (stage) => {
      const given = await change(stage);
      const json = JSON.stringify({ phone: given.request.phone, isVerified: "true", userId: given.request.userId });
      return { ...given, raw: { json } };
    },
    { fields: ["isVerified"], not: { binary: "the binary format has no wrong types" }, malformed: malformed.fields },
  ),
  scene(
    "isVerified: null is as if it were not there",
    "OK",
    async (stage) => {
      const given = await change(stage);
      return { ...given, raw: { json: JSON.stringify({ ...given.request, isVerified: null, sendCode: null }) } };
    },
    { not: { binary: "the binary format has no null" } },
  ),
  scene(
    "the refusal in French",
    "PHONE_INVALID",
    async (stage) => ({
      ...(await change(stage, { phone: "hello" })),
      headers: { "accept-language": "fr" },
    }),
    { fields: ["phone"] },
  ),
];
