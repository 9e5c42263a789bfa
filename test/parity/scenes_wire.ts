import { fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import type { Client } from "../harness.ts";
import { methods } from "./play.ts";
import { limits, malformed, newNumber, person, type Scene, type Stage } from "./stage.ts";

/** A call of one of the four operations that would succeed, and what its request has to have. */
type Operation = {
  readonly rpc: string;
  readonly asked: (stage: Stage) => Promise<{ readonly request: JsonObject; readonly by?: Client }>;
  /** The fields that an empty request lacks; those in `path` cannot be missing over REST. */
  readonly needed: readonly string[];
  readonly path: readonly string[];
  /** A field of text. */
  readonly text: string;
};

const operations: readonly Operation[] = [
  {
    rpc: "AccountService.ChangePassword",
    async asked(stage) {
      const { client, password } = await person(stage);
      return { by: client, request: { oldPassword: password, newPassword: "Green-Teapot-77" } };
    },
    ...{ needed: ["oldPassword", "newPassword"], path: [], text: "newPassword" },
  },
  {
    rpc: "ApplicationService.CreateOidcApplication",
    asked: async ({ fixture }) => ({ request: { projectId: await fixture.newProject(), name: "Portal" } }),
    ...{ needed: ["name"], path: ["projectId"], text: "name" },
  },
  {
    rpc: "UserService.ChangePhone",
    asked: async ({ fixture }) => ({
      request: { userId: await fixture.newUser(), phone: newNumber(), isVerified: true },
    }),
    ...{ needed: ["phone"], path: ["userId"], text: "phone" },
  },
  {
    rpc: "UserGrantService.AddUserGrant",
    asked: async ({ fixture }) => ({ request: { userId: await fixture.newUser(), projectId: fixture.projectId } }),
    ...{ needed: ["projectId"], path: ["userId"], text: "projectGrantId" },
  },
];

const typed = "the binary format has no names and no types";
const newer = "a client of JSON that is newer than the server is refused, and that is a scene of its own";

type Edit = { readonly json?: (text: string) => string | Uint8Array; readonly binary?: (bytes: Buffer) => Buffer };

/** The call with its bytes edited, where a format has an edit. */
async function edited(
  { rpc, asked }: Operation,
  stage: Stage,
  { more = {}, json, binary }: Edit & { more?: JsonObject },
) {
  const given = await asked(stage);
  const request = { ...given.request, ...more };
  const input = methods.get(rpc)?.input;
  const bytes = Buffer.from(input && binary ? toBinary(input, fromJson(input, request)) : []);
  const raw = { ...(json && { json: json(JSON.stringify(request)) }), ...(binary && { binary: binary(bytes) }) };
  return { ...given, request, raw };
}

const placeholder = "QQ";
const halves = Buffer.of(0xff, 0xfe);

/** Puts bytes that are no text in place of a text of two characters. */
function broken(bytes: Uint8Array): Buffer {
  const at = Buffer.from(bytes).indexOf(placeholder);
  return Buffer.concat([bytes.subarray(0, at), halves, bytes.subarray(at + halves.length)]);
}

const invalid = "VALIDATION_FAILED";

/** Makes the scenes of an operation for malformed bytes. */
function scenesOf(operation: Operation): Scene[] {
  const { rpc, needed, path, text } = operation;
  const scene = (name: string, says: Scene["says"], edit: Parameters<typeof edited>[2], more: Partial<Scene> = {}) => ({
    ...{ rpc, name: `on the wire: ${name}`, says, given: (stage: Stage) => edited(operation, stage, edit) },
    ...more,
  });
  const empty = { json: () => "", binary: () => Buffer.of() };
  const inJson = (fields: readonly string[]): Partial<Scene> => ({
    fields,
    not: { binary: typed },
    malformed: malformed.fields,
  });
  const inBytes = { malformed: malformed.bytes };
  const elsewhere = path.length > 0 ? { not: { rest: "its path says something" } } : {};
  return [
    scene("an empty body, over REST", invalid, empty, { fields: needed, only: "rest", malformed: malformed.empty }),
    scene("an empty body", invalid, empty, { fields: [...path, ...needed], malformed: malformed.empty, ...elsewhere }),
    scene("an empty object, over REST", invalid, { json: () => "{}" }, { fields: needed, only: "rest" }),
    scene("unknown fields, each by its path", invalid, { more: { nope: 1, é: {} }, json: same }, inJson(["nope", "é"])),
    scene("a field that the binary format does not know", "OK", { binary: withMore }, { not: { json: newer } }),
    scene("a value of the wrong type", invalid, { more: { [text]: 7 }, json: same }, inJson([text])),
    scene("half a character", invalid, { json: (json) => withField(json, text, '"\\ud800"') }, inJson([text])),
    scene(
      "a key twice",
      invalid,
      { more: { [text]: "a" }, json: (json) => withField(json, text, '"b"') },
      inJson([text]),
    ),
    scene("U+0000", invalid, { more: { [text]: "a\u0000b" } }, { fields: [text] }),
    scene(
      "larger than a message may be",
      "BODY_TOO_LARGE",
      { more: { [text]: "x".repeat(limits.messageMaxBytes) } },
      { malformed: malformed.size },
    ),
    scene(
      "cut off",
      "MALFORMED_BODY",
      { json: (json) => json.slice(0, -1), binary: (bytes) => bytes.subarray(0, -1) },
      inBytes,
    ),
    scene(
      "more behind the end",
      "MALFORMED_BODY",
      { json: (json) => `${json}{}` },
      { not: { binary: typed }, ...inBytes },
    ),
    scene("no object", "MALFORMED_BODY", { json: () => "null" }, { not: { binary: typed }, ...inBytes }),
    scene(
      "bytes that are not UTF-8",
      "MALFORMED_BODY",
      { more: { [text]: placeholder }, json: (json) => broken(Buffer.from(json)), binary: broken },
      inBytes,
    ),
  ];
}

const same = (json: string) => json;
const withField = (json: string, name: string, value: string) => `{"${name}":${value},${json.slice(1)}`;
// Field 1000, of a later contract.
const withMore = (bytes: Buffer) => Buffer.concat([bytes, Buffer.of(0xc2, 0x3e, 1, 65)]);

/** The scenes of malformed bytes for each of the four operations. */
export const wireScenes: readonly Scene[] = operations.flatMap(scenesOf);
