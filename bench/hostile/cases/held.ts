import { setTimeout as pause } from "node:timers/promises";
import { largest, protoText } from "../bodies.ts";
import { enveloped, fieldsOf, get, grpc, rest } from "../calls.ts";
import type { Case } from "../case.ts";
import { begin, type Client, open, paced } from "../client.ts";
import { block } from "../frames.ts";
import { type Http2, openHttp2 } from "../http2.ts";

const health = "/grpc.health.v1.Health/Watch";
const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const nearly = Buffer.alloc(largest - 10_000, 0x20);
const streamsEach = 128;
// How long all of it is held.
const heldMs = 700;

const held = (name: string, hold: (client: Client) => Promise<unknown>): Case => ({
  name,
  caller: "unknown",
  holds: true,
  async run(client) {
    await hold(client);
    await pause(heldMs);
    return 0;
  },
});

type Held = { readonly fields: Record<string, string>; readonly body: Uint8Array; readonly ends?: boolean };

/** Opens as many streams as a connection may have, a thousand in a second, and sends a body on each, which need not end. */
async function holdStreams(
  client: Client,
  connections: number,
  { fields, body, ends = false }: Held,
): Promise<Http2[]> {
  const all = await Promise.all(Array.from({ length: connections }, () => openHttp2(client)));
  await pause(20);
  for (const connection of all) {
    await pause(streamsEach);
    const streams = [];
    for (let n = 0; n < streamsEach; n += 1) {
      begin(client, block(fields).length + body.length);
      streams.push(await connection.request(fields));
    }
    // One window serves all: when it does not open within a second, the server has enough.
    for (const stream of streams) if (!(await stream.send(body, { ends, waitMs: 1000 })) && !stream.isEnded()) break;
  }
  return all;
}

async function holdBodies(client: Client, connections: number): Promise<unknown> {
  const fields = `Content-Type: application/json\r\nContent-Length: ${nearly.length + 1}\r\n`;
  const wires = await Promise.all(Array.from({ length: connections }, () => open(client)));
  for (const wire of wires) {
    begin(client, nearly.length);
    await wire.write(`POST /v1/sessions HTTP/1.1\r\nHost: a\r\n${fields}\r\n`);
    // A refused one is read and dropped, or not read at all.
    await Promise.race([wire.write(nearly), pause(1000)]);
  }
  return wires;
}

const streamed = (client: Client, path: string) => fieldsOf(client, grpc(path, { bytes: new Uint8Array() }));
const envelopeOf = (size: number) => Buffer.concat([Buffer.of(0, 0, 0x3f, 0xff, 0xff), Buffer.alloc(size, 0x61)]);

const bodies: readonly Case[] = [
  held("bodies that do not end, 64 of 4 MB, HTTP/1.1", (client) => holdBodies(client, 64)),
  held("bodies that do not end, 256 of 4 MB, HTTP/2, unary", (client) =>
    holdStreams(client, 2, {
      fields: fieldsOf(client, rest("/v1/sessions", { bytes: new Uint8Array() })),
      body: nearly,
    }),
  ),
  held("bodies that do not end, 256 of 4 MB, HTTP/2, reflection", (client) =>
    holdStreams(client, 2, { fields: streamed(client, reflection), body: envelopeOf(largest - 10_000) }),
  ),
  held("lengths of 4 MB with 5 bytes behind, 2,560 streams", (client) =>
    holdStreams(client, 20, { fields: streamed(client, reflection), body: envelopeOf(5) }),
  ),
];

const watches: readonly Case[] = [
  held("2,560 streams of health", (client) =>
    holdStreams(client, 20, {
      fields: streamed(client, health),
      body: enveloped({ bytes: new Uint8Array() }),
      ends: true,
    }),
  ),
  held("128 streams of health of an unknown service of 4 MB in br", (client) =>
    holdStreams(client, 1, {
      fields: { ...streamed(client, health), "grpc-encoding": "br" },
      body: enveloped({ bytes: protoText(1, Buffer.alloc(largest - 64, 0x61)), encoding: "br" }),
      ends: true,
    }),
  ),
  held("2,560 streams of reflection", (client) =>
    holdStreams(client, 20, { fields: streamed(client, reflection), body: enveloped({ bytes: new Uint8Array() }) }),
  ),
];

const answers: readonly Case[] = [
  held("answers that are not read, 512 of /openapi.json, HTTP/2", async (client) => unread(client, "/openapi.json", 4)),
  held("answers that are not read, 512 of /openapi.json in br, HTTP/2", async (client) =>
    unread(client, "/openapi.json", 4, { "accept-encoding": "br" }),
  ),
  held("answers that are not read, 256 of reflection, HTTP/2", (client) => unreadReflection(client)),
  held("answers that are not read, 500 of /openapi.json, HTTP/1.1", unreadHttp1),
];

async function unread(client: Client, path: string, connections: number, headers = {}): Promise<Http2[]> {
  const all = await Promise.all(Array.from({ length: connections }, () => openHttp2(client, 0)));
  const fields = fieldsOf(client, get(path, headers));
  for (const connection of all)
    for (let n = 0; n < streamsEach; n += 1) {
      begin(client, block(fields).length);
      await connection.request(fields, true);
    }
  return all;
}

/** Each stream asks a thousand times for a file with all that it imports, and reads none of it. */
async function unreadReflection(client: Client): Promise<Http2[]> {
  const one = enveloped({ bytes: protoText(4, Buffer.from("postern.v1.UserService")) });
  const all = await Promise.all([openHttp2(client, 0), openHttp2(client, 0)]);
  for (const connection of all)
    for (let n = 0; n < streamsEach; n += 1) {
      // At once, the attacker would take the CPU that the bystander needs.
      await paced(client);
      begin(client, one.length * 1000);
      const stream = await connection.request(streamed(client, reflection));
      await stream.send(Buffer.alloc(one.length * 1000, one), { waitMs: 200 });
    }
  return all;
}

async function unreadHttp1(client: Client): Promise<unknown> {
  const wires = await Promise.all(Array.from({ length: 10 }, () => open(client)));
  for (const wire of wires) {
    wire.socket.pause();
    for (let n = 0; n < 50; n += 1) begin(client, 0);
    await wire.write("GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50));
  }
  return wires;
}

/** Connections, bodies and streams that are held open. */
export const heldCases: readonly Case[] = [...bodies, ...watches, ...answers];
