import { jsonList, largest, protoText, repeated } from "../bodies.ts";
import { type Call, compress, connect, connectStream, type Encoding, get, grpc, grpcWeb, rest } from "../calls.ts";
import { type Case, ofCall } from "../case.ts";

const batch = "UserGrantService/AddUserGrants";
const createSession = "SessionService/CreateSession";
const health = "/grpc.health.v1.Health";
const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

const emptyItems = () => repeated([0x0a, 0x00]);
const encodings: readonly Encoding[] = ["br", "gzip", "zstd"];

const lists: readonly Case[] = [
  ...encodings.map((encoding) =>
    ofCall(`Protobuf, 2 million empty items, gRPC in ${encoding}`, () =>
      grpc(batch, { bytes: emptyItems(), encoding }),
    ),
  ),
  ofCall("Protobuf, 2 million empty items, Connect in br", () =>
    connect(batch, "proto", { bytes: emptyItems(), encoding: "br" }),
  ),
  ofCall("Protobuf, 2 million empty items, gRPC-Web in gzip", () =>
    grpcWeb(batch, { bytes: emptyItems(), encoding: "gzip" }),
  ),
  ofCall(
    "Protobuf, 2 million empty items, gRPC in br, no role",
    () => grpc(batch, { bytes: emptyItems(), encoding: "br" }),
    { caller: "no role" },
  ),
  ofCall("Protobuf, 32,000 empty items, 64 KB", () => grpc(batch, { bytes: repeated([0x0a, 0x00], 65_536) })),
  ofCall("Protobuf, 2 million empty role keys, gRPC in br", () =>
    grpc("UserGrantService/AddUserGrant", { bytes: repeated([0x22, 0x00]), encoding: "br" }),
  ),
  ofCall(
    "Protobuf, 2 million empty role keys, gRPC in br, no role",
    () => grpc("UserGrantService/AddUserGrant", { bytes: repeated([0x22, 0x00]), encoding: "br" }),
    { caller: "no role" },
  ),
  ofCall("Protobuf, 4 million packed enum values, gRPC in br", () => enums()),
  ofCall("Protobuf, 4 million packed enum values, gRPC in br, no role", () => enums(), { caller: "no role" }),
  ofCall("Protobuf, 2 million unknown fields, gRPC in br", () =>
    grpc(createSession, { bytes: repeated([0x78, 0x01]), encoding: "br" }),
  ),
  ofCall("Protobuf, 2 million empty groups, gRPC in br", () =>
    grpc(createSession, { bytes: repeated([0x7b, 0x7c]), encoding: "br" }),
  ),
  ofCall("Protobuf, groups nested 4 million deep, gRPC in br", () =>
    grpc(createSession, { bytes: repeated([0x7b]), encoding: "br" }),
  ),
  ofCall("Protobuf, one field 2 million times, gRPC in br", () =>
    grpc(createSession, { bytes: repeated([0x0a, 0x00]), encoding: "br" }),
  ),
];

const enums = (): Call =>
  grpc("ApplicationService/CreateOidcApplication", {
    bytes: protoText(5, Buffer.alloc(largest - 64, 1)),
    encoding: "br",
  });

const zeros = () => Buffer.alloc(200_000_000);

const bombs: readonly Case[] = [
  ...encodings.map((encoding) =>
    ofCall(`200 MB of zeros, REST in ${encoding}`, () => rest("/v1/sessions", { bytes: zeros(), encoding })),
  ),
  ofCall("200 MB of zeros, gRPC in gzip", () => grpc(createSession, { bytes: zeros(), encoding: "gzip" })),
  ofCall("200 MB of zeros, gRPC-Web in zstd", () => grpcWeb(createSession, { bytes: zeros(), encoding: "zstd" })),
  ofCall("200 MB of zeros, reflection in br", () => grpc(reflection, { bytes: zeros(), encoding: "br" })),
  ofCall("4 MB of zeros, REST in gzip", () => rest("/v1/sessions", { bytes: Buffer.alloc(largest), encoding: "gzip" })),
];

const big = () => Buffer.alloc(largest - 64, 0x61);

const echoes: readonly Case[] = [
  ofCall("health, an unknown service of 4 MB in br, gRPC", () =>
    grpc(`${health}/Check`, { bytes: protoText(1, big()), encoding: "br" }),
  ),
  ofCall("health, an unknown service of 4 MB in br, Connect", () =>
    connect(`${health}/Check`, "proto", { bytes: protoText(1, big()), encoding: "br" }),
  ),
  ofCall("health, an unknown service of 4 MB in br, gRPC-Web", () =>
    grpcWeb(`${health}/Check`, { bytes: protoText(1, big()), encoding: "br" }),
  ),
  ofCall("reflection, an unknown symbol of 4 MB in br, gRPC", () =>
    grpc(reflection, { bytes: protoText(4, big()), encoding: "br" }),
  ),
  ofCall("reflection, an unknown symbol of 4 MB in br, Connect", () =>
    connectStream(reflection, { bytes: protoText(4, big()), encoding: "br" }),
  ),
  ofCall("reflection, a host of 4 MB in br, gRPC-Web", () =>
    grpcWeb(reflection, { bytes: Buffer.concat([protoText(1, big()), protoText(7, Buffer.alloc(0))]), encoding: "br" }),
  ),
  ofCall("reflection, 100 unknown symbols of 16 KB in gzip, gRPC", () => {
    const call = grpc(reflection, { bytes: protoText(4, Buffer.alloc(16_000, 0x61)), encoding: "gzip" });
    return { ...call, body: Buffer.concat(Array<Uint8Array>(100).fill(call.body)) };
  }),
  ofCall(
    "a page token of 4 MB in br, no role",
    () => connect("UserService/ListUsers", "proto", { bytes: protoText(2, big()), encoding: "br" }),
    { caller: "no role" },
  ),
];

const base64 = (body: Buffer, rpc = createSession): Call => ({
  ...grpcWeb(rpc, { bytes: new Uint8Array() }),
  headers: { "content-type": "application/grpc-web-text+proto" },
  body,
});

const prefixes: readonly Case[] = [
  ofCall("gRPC-Web text, 1.4 million parts padded apart", () => base64(repeated([0x41, 0x41, 0x41, 0x3d], 5_500_000))),
  ofCall("gRPC-Web text, 64 KB of parts padded apart", () => base64(repeated([0x41, 0x41, 0x41, 0x3d], 65_536))),
  ofCall(
    "gRPC-Web text, 1.4 million parts padded apart, no role",
    () => base64(repeated([0x41, 0x41, 0x41, 0x3d], 5_500_000), batch),
    { caller: "no role" },
  ),
  ofCall("gRPC-Web text, 16 KB of parts padded apart", () => base64(repeated([0x41, 0x41, 0x3d, 0x3d], 16_384))),
  ofCall("gRPC-Web text, padding alone", () => base64(Buffer.alloc(5_500_000, 0x3d))),
  ofCall("gRPC, a length of 4 GB in front of nothing", () => ({
    ...grpc(createSession, { bytes: new Uint8Array() }),
    body: Buffer.of(0, 255, 255, 255, 255),
  })),
  ofCall("gRPC-Web, a million empty messages", () => ({
    ...grpcWeb(createSession, { bytes: new Uint8Array() }),
    body: Buffer.alloc(4_000_000),
  })),
  ofCall("Connect, GET with a message of 15 KB", () =>
    get(
      `/postern.v1.EventService/ListEvents?connect=v1&encoding=json&message=${encodeURIComponent(jsonList("types", "1", 5000).toString())}`,
    ),
  ),
  ofCall("Connect, GET with a message of 4 MB in br", () => {
    const message = compress(jsonList("types", "1"), "br").toString("base64url");
    return get(
      `/postern.v1.EventService/ListEvents?connect=v1&encoding=json&compression=br&base64=1&message=${message}`,
    );
  }),
  ofCall("Connect, GET with a message of 4 MB in br, Protobuf", () => {
    const message = compress(repeated([0x22, 0x00]), "br").toString("base64url");
    return get(
      `/postern.v1.EventService/ListEvents?connect=v1&encoding=proto&compression=br&base64=1&message=${message}`,
    );
  }),
];

/** Messages in Protobuf, compressed ones, and what lies around them. */
export const messageCases: readonly Case[] = [...lists, ...bombs, ...echoes, ...prefixes];
