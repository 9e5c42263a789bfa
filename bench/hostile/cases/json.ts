import {
  combiningMarks,
  jsonList,
  jsonText,
  largest,
  nested,
  protoText,
  repeatedKeys,
  unknownKeys,
} from "../bodies.ts";
import { connect, grpc, grpcWeb, type Message, rest } from "../calls.ts";
import { type Case, ofCall } from "../case.ts";

const sessions = "/v1/sessions";
const createSession = "SessionService/CreateSession";
const batch = "/v1/user-grants:batchAdd";
const batchRpc = "UserGrantService/AddUserGrants";

const inJson = (rpc: string, of: () => Message) =>
  [
    ["plain JSON", () => rest(`/postern.v1.${rpc}`, of())],
    ["Connect", () => connect(rpc, "json", of())],
    ["gRPC", () => grpc(rpc, of(), "json")],
    ["gRPC-Web", () => grpcWeb(rpc, of(), "json")],
  ] as const;

const br = (bytes: () => Buffer) => (): Message => ({ bytes: bytes(), encoding: "br" });

const under38 = () => repeatedKeys(20_000, 1000);

const repeats: readonly Case[] = [
  ofCall("JSON, repeated keys under a long one, 16 KB", () => rest(sessions, { bytes: repeatedKeys(8000, 450) })),
  ofCall("JSON, repeated keys under a long one, 38 KB", () => rest(sessions, { bytes: under38() })),
  ...inJson(createSession, () => ({ bytes: under38() })).map(([protocol, call]) =>
    ofCall(`JSON, repeated keys under a long one, 38 KB, ${protocol}`, call),
  ),
  ofCall("JSON, repeated keys under a long one, 64 KB", () => rest(sessions, { bytes: repeatedKeys(46_000, 1000) })),
  ofCall("JSON, repeated keys under a long one, 118 KB", () => rest(sessions, { bytes: repeatedKeys(100_000, 1000) })),
  ofCall("JSON, repeated keys under a long one, 1 MB", () => rest(sessions, { bytes: repeatedKeys(1_000_000, 200) })),
  ofCall("JSON, repeated keys under a long one, 4 MB", () =>
    rest(sessions, { bytes: repeatedKeys(3_000_000, 55_000) }),
  ),
  ofCall("JSON, repeated keys under a long one, 100 KB in br", () =>
    rest(sessions, { bytes: repeatedKeys(100_000, 100), encoding: "br" }),
  ),
  ofCall("JSON, repeated keys, 16 KB", () => rest(sessions, { bytes: repeatedKeys(1, 900) })),
];

const keys: readonly Case[] = [
  ofCall("JSON, unknown keys, 16 KB", () => rest(sessions, { bytes: unknownKeys(16_000) })),
  ofCall("JSON, unknown keys, 64 KB", () => rest(sessions, { bytes: unknownKeys(65_000) })),
  ofCall("JSON, unknown keys, 4 MB in br", () => rest(sessions, { bytes: unknownKeys(largest), encoding: "br" })),
  ofCall("JSON, one unknown key of 4 MB in br", () =>
    rest(sessions, { bytes: jsonText("A".repeat(largest - 64), ""), encoding: "br" }),
  ),
  ofCall("JSON, nested 2 million deep, in br", () => rest(sessions, { bytes: nested("[", "1", "]"), encoding: "br" })),
  ofCall("JSON, objects nested deep, in br", () =>
    rest(sessions, { bytes: nested('{"a":', "1", "}"), encoding: "br" }),
  ),
  ofCall("JSON, objects nested 100 deep, 16 KB", () =>
    rest(sessions, { bytes: nested(`{"${"a".repeat(150)}":`, "1", "}", 15_000) }),
  ),
];

const values: readonly Case[] = [
  ofCall("JSON, an object for a number", () =>
    rest("/postern.v1.ProjectService/ListProjects", { bytes: Buffer.from('{"pageSize":{"toString":1}}') }),
  ),
  ofCall("JSON, a number of 4 million digits, in br", () =>
    rest("/postern.v1.ProjectService/ListProjects", {
      bytes: Buffer.from(`{"pageSize":${"1".repeat(largest - 64)}}`),
      encoding: "br",
    }),
  ),
  ofCall("JSON, a text of 4 million digits for a number, in br", () =>
    rest("/postern.v1.ProjectService/ListProjects", {
      bytes: jsonText("pageSize", "1".repeat(largest - 64)),
      encoding: "br",
    }),
  ),
  ofCall("JSON, a duration of 4 million digits, in br", () =>
    rest("/postern.v1.PolicyService/SetLockoutPolicy", {
      bytes: Buffer.from(`{"policy":{"lockDuration":"${"1".repeat(largest - 64)}s"}}`),
      encoding: "br",
    }),
  ),
  ofCall("JSON, escapes, 4 MB in br", () =>
    rest(sessions, { bytes: jsonText("loginName", "\\u0041".repeat(699_000)), encoding: "br" }),
  ),
  ofCall("JSON, half characters, 4 MB in br", () =>
    rest(sessions, { bytes: jsonText("loginName", "\\ud800".repeat(699_000)), encoding: "br" }),
  ),
  ofCall("JSON, no UTF-8, 4 MB in br", () =>
    rest(sessions, { bytes: Buffer.alloc(largest - 64, 0xff), encoding: "br" }),
  ),
  ofCall("JSON, white space, 4 MB in br", () =>
    rest(sessions, { bytes: Buffer.alloc(largest - 64, 0x20), encoding: "br" }),
  ),
];

const lists: readonly Case[] = [
  ofCall("JSON, 2 million numbers for items, in br", () =>
    rest(batch, { bytes: jsonList("items", "1"), encoding: "br" }),
  ),
  ...inJson(
    batchRpc,
    br(() => jsonList("items", "1")),
  ).map(([protocol, call]) => ofCall(`JSON, 2 million numbers for items, in br, ${protocol}`, call)),
  ofCall("JSON, 1.4 million empty items, in br", () => rest(batch, { bytes: jsonList("items", "{}"), encoding: "br" })),
  ofCall("JSON, 1.4 million empty items, in zstd", () =>
    rest(batch, { bytes: jsonList("items", "{}"), encoding: "zstd" }),
  ),
  ofCall(
    "JSON, 1.4 million empty items, in br, no role",
    () => rest(batch, { bytes: jsonList("items", "{}"), encoding: "br" }),
    { caller: "no role" },
  ),
  ofCall("JSON, nulls for items, in br", () => rest(batch, { bytes: jsonList("items", "null"), encoding: "br" })),
  ofCall("JSON, numbers for role keys, in br", () =>
    rest("/v1/users/1/grants", { bytes: jsonList("roleKeys", "1"), encoding: "br" }),
  ),
  ofCall("JSON, numbers for redirect URIs, in br", () =>
    rest("/v1/projects/1/applications/oidc", { bytes: jsonList("redirectUris", "1"), encoding: "br" }),
  ),
  ofCall("JSON, unknown names of an enum, in br", () =>
    rest("/v1/projects/1/applications/oidc", { bytes: jsonList("grantTypes", '"a"'), encoding: "br" }),
  ),
  ofCall(
    "JSON, texts for types of events, in br, no role",
    () => rest("/postern.v1.EventService/ListEvents", { bytes: jsonList("types", '""'), encoding: "br" }),
    { caller: "no role" },
  ),
  ofCall("JSON, numbers for items, 64 KB", () => rest(batch, { bytes: jsonList("items", "1", 65_536) })),
  ofCall("JSON, empty items, 64 KB", () => rest(batch, { bytes: jsonList("items", "{}", 65_536) })),
];

const signIn = (loginName: string, password: string) => Buffer.from(JSON.stringify({ loginName, password }));

// The hashing itself is exempt; this is what happens to the text before it.
const passwords: readonly Case[] = [
  ofCall("a password of combining marks, 16 KB", () => rest(sessions, { bytes: signIn("a", combiningMarks(15_900)) })),
  ofCall("a password of combining marks, 128 KB in br", () =>
    rest(sessions, { bytes: signIn("a", combiningMarks(128_000)), encoding: "br" }),
  ),
  ofCall("a password of combining marks, 4 MB in br, gRPC", () => {
    const [loginName, password] = ["a", combiningMarks(largest - 4096)].map((value) => Buffer.from(value));
    const bytes = Buffer.concat([protoText(1, loginName ?? none), protoText(2, password ?? none)]);
    return grpc(createSession, { bytes, encoding: "br" });
  }),
  ofCall("a login name of combining marks, 4 MB in br", () =>
    rest(sessions, { bytes: signIn(combiningMarks(largest - 4096), "a"), encoding: "br" }),
  ),
];

const none = Buffer.alloc(0);

/** Messages in JSON that cost more than their bytes. */
export const jsonCases: readonly Case[] = [...repeats, ...keys, ...values, ...lists, ...passwords];
