import type { DescField } from "@bufbuild/protobuf";
import { describeAll, type RpcDescription } from "../../../src/contract/describe.ts";
import { queryMaxLength } from "../../../src/provider/http/parameters.ts";
import { paths } from "../../../src/provider/http/paths.ts";
import { services } from "../../../src/runtime/modules.ts";
import { combiningMarks, repeatedKeys, unknownKeys } from "../bodies.ts";
import { asBrowser, connect, get, rest } from "../calls.ts";
import { type Case, ofCall } from "../case.ts";

// The most that an unknown caller may send in one message.
const most = 16_384;
const room = most - 256;

/** The worst JSON that a field takes, by its kind: values without end where it is open, else as much text as there is room for. */
function worstOf(field: DescField): unknown {
  if (field.message?.typeName === "google.protobuf.Struct") return { a: Array(Math.floor(room / 3)).fill({}) };
  if (field.fieldKind === "list") return Array(Math.floor(room / 3)).fill(field.message ? {} : "");
  if (field.fieldKind === "message") return Object.fromEntries(field.message.fields.map((one) => [one.jsonName, ""]));
  return combiningMarks(room);
}

const bodies = ({ method }: RpcDescription): readonly (readonly [string, () => Buffer])[] => [
  ...method.input.fields.map(
    (field) => [field.jsonName, () => Buffer.from(JSON.stringify({ [field.jsonName]: worstOf(field) }))] as const,
  ),
  ["unknown keys", () => unknownKeys(room)],
  ["repeated keys", () => repeatedKeys(2_000, 700)],
];

/** Each rpc that needs no caller, with the worst 16 KiB for each of its fields, compressed as small as it gets. */
const rpcs: readonly Case[] = describeAll(services)
  .filter(({ isOpen, method }) => isOpen && method.methodKind === "unary")
  .flatMap((rpc) =>
    bodies(rpc).map(([what, bytes]) =>
      ofCall(`anyone, ${rpc.method.name}, 16 KiB of ${what}`, () =>
        connect(rpc.path, "json", { bytes: bytes(), encoding: "gzip" }),
      ),
    ),
  );

const form = (text: string) => {
  const call = rest("/", { bytes: Buffer.from(text.slice(0, most)) });
  return { ...call, headers: { "content-type": "application/x-www-form-urlencoded" } };
};

const forms = {
  "fields without a value": "a&".repeat(most / 2),
  escapes: "state=".concat("%C3%A9".repeat(most / 6)),
  "one field again and again": "client_id=x&".repeat(most / 12),
};

// The most that fits into a head of 16 KiB beside the rest.
const inHead = 15_000;

const queries = {
  // Not longer than pages take, which lead to themselves again in each language.
  "one name without a value": "a&".repeat(queryMaxLength / 2 - 1),
  escapes: `code=${"%C3%A9".repeat(inHead / 6)}`,
  // As many as are allowed, each as long as there is room for.
  "49 parameters": Array.from({ length: 49 }, (_, n) => `${n}=${"%26".repeat(76)}`).join("&"),
};

const secret = (kind: string, n: number) => `${kind}_${String(n).padStart(33, "A")}`;
const secrets = (kind: string) => Array.from({ length: 8 }, (_, n) => secret(kind, n)).join(".");

/** Cookies in the form of ours, with all that they may hold: each one makes the page look for something. */
const wellFormed = {
  browser: secret("ob", 0),
  session: secret("os", 9),
  accounts: secrets("os"),
  known: secrets("ok"),
  language: "de",
  code: "2".repeat(40),
  link: "A".repeat(1_000),
  request: "A".repeat(3_800),
};

const ours = Object.entries(wellFormed).map(([name, value]) => `__Host-postern-${name}=${value}`);

const cookies = {
  "cookies like ours": [...ours, `filling=${"a".repeat(8_000)}`].join("; "),
  "one cookie of ours again and again": `${"__Host-postern-session=;".repeat(inHead / 24)}`,
  "cookies without end": "a=;".repeat(inHead / 3),
  "spaces and quotes for cookies": `__Host-postern-language=${'" '.repeat(inHead / 2)}`,
};

/** The endpoints and pages of sign-in and account, with the worst forms, queries and cookies. */
const pages: readonly Case[] = Object.values(paths).flatMap((path) => [
  ...Object.entries(forms).map(([what, text]) =>
    ofCall(`anyone, ${path}, a form of ${what}`, () => ({ ...form(text), path })),
  ),
  ...Object.entries(queries).map(([what, text]) =>
    ofCall(`anyone, ${path}, a query of ${what}`, () => get(`${path}?${text}`, asBrowser)),
  ),
  ...Object.entries(cookies).map(([what, cookie]) =>
    ofCall(`anyone, ${path}, ${what}`, () => get(path, { ...asBrowser, cookie })),
  ),
]);

/** Everything that an unknown caller reaches, derived from the contract and the provider. */
export const anyoneCases: readonly Case[] = [...rpcs, ...pages];
