import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { certificateFor } from "../../../../../test/wire/certificate.ts";
import { shareConnections } from "../../../src/http/accept.ts";
import { type ConnectionLimits, openConnections } from "../../../src/http/connections.ts";
import type { Exchange, RequestFault } from "../../../src/http/exchange.ts";
import { encryption } from "../../../src/http/tls.ts";
import { limits } from "./peer.ts";
import { probe, type Row } from "./raw_table.ts";

/** A server to be sent raw bytes, over clear text or TLS. */
export type RawServer = AsyncDisposable & { readonly dial: () => Promise<Socket> };

/** Opens a server whose responses show the parsed request. */
export async function openRaw(way: "clear text" | "TLS", some: Partial<ConnectionLimits> = {}): Promise<RawServer> {
  await using stack = new AsyncDisposableStack();
  const faults: unknown[] = [];
  const all = { ...limits, ...some };
  const connections = openConnections({ limits: all, serve, onFault: (error) => void faults.push(error) });
  const certificate = way === "TLS" ? stack.use(await certificateFor("localhost")) : undefined;
  const secured = certificate && (await encryption(certificate, all.headerTimeoutMs));
  const server = createServer({ noDelay: true });
  server.on("connection", shareConnections({ connections, encryption: secured, limits: all }).accept);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stack.defer(async () => {
    connections.destroy();
    await new Promise((resolve) => server.close(resolve));
    if (faults.length > 0) throw faults[0];
  });
  const { port } = server.address() as AddressInfo;
  const opened = stack.move();
  return { dial: () => dial(port, way === "TLS"), [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function dial(port: number, encrypted: boolean): Promise<Socket> {
  const options = { port, host: "127.0.0.1", noDelay: true };
  const socket = encrypted ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
  const event = encrypted ? "secureConnect" : "connect";
  await new Promise((resolve, reject) => socket.once(event, resolve).once("error", reject));
  return socket.on("error", () => {});
}

/** Sends the steps of a row; returns all lines received until the end of the connection. */
export async function converse(server: RawServer, { steps, ends = false }: Row): Promise<string[]> {
  const socket = await server.dial();
  let text = "";
  const closed = new Promise((resolve) => socket.on("close", resolve));
  let hear = () => {};
  socket.on("data", (part) => {
    text += part.toString("latin1");
    hear();
  });
  const answers = (count: number) =>
    new Promise<void>((resolve) => {
      hear = () => {
        if (text.split(statusLine).length > count) resolve();
      };
      hear();
      void closed.then(() => resolve());
    });
  for (const step of ends ? steps : [...steps, probe]) {
    if (step === "FIN") socket.end();
    else if (typeof step === "string") socket.write(Buffer.from(step, "latin1"));
    else await answers(step.answers);
    await new Promise((next) => setImmediate(next));
  }
  await closed;
  return text.split("\r\n").map(shortened);
}

const statusLine = /HTTP\/1\.1 \d{3}/;
const shortened = (line: string) => line.replace(/(.)\1{99,}/g, (run, sign) => `${sign}{${run.length}}`);

const statuses: Readonly<Record<RequestFault, number>> = {
  MALFORMED_REQUEST: 400,
  HEADERS_TOO_LARGE: 431,
  DEADLINE_EXCEEDED: 504,
};

function serve(exchange: Exchange): void {
  const { fault: flaw, target, headers } = exchange;
  if (flaw) {
    const language = headers["accept-language"];
    return void exchange.answer({ status: statuses[flaw], headers: {}, body: JSON.stringify({ flaw, language }) });
  }
  const answer = answers.get(target) ?? echo;
  answer(exchange);
}

type Answer = (exchange: Exchange) => unknown;
const answers: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ["/probe", (exchange) => exchange.answer({ status: 200, headers: {}, body: "still served" })],
  ["/early", (exchange) => exchange.answer({ status: 200, headers: {}, body: "early" })],
  ["/silent", () => {}],
  ["/begun", (exchange) => exchange.begin(200, {})],
  ["/parts", (exchange) => inParts(exchange, {})],
  ["/sized", (exchange) => inParts(exchange, { "content-length": "6" })],
  ["/204", (exchange) => exchange.answer({ status: 204, headers: {} })],
  ["/299", (exchange) => exchange.answer({ status: 299, headers: {} })],
  ["/304", (exchange) => exchange.answer({ status: 304, headers: { etag: '"a"' } })],
  ["/bytes", (exchange) => exchange.answer({ status: 200, headers: {}, body: Buffer.from("\xe4\xf6", "latin1") })],
  ["/large", (exchange) => exchange.answer({ status: 200, headers: {}, body: "a".repeat(200_000) })],
  ["/twice", (exchange) => exchange.answer({ status: 200, headers: { "x-many": ["a", "b"], date: "today" } })],
  ["/giveup", (exchange) => exchange.abort()],
  ["/first", readFirst],
  ["/chunks", readChunks],
]);

async function inParts(exchange: Exchange, headers: Record<string, string>): Promise<void> {
  exchange.begin(200, headers);
  for (const part of ["one", "", "two"]) await exchange.write(Buffer.from(part));
  exchange.finish();
}

async function readFirst(exchange: Exchange): Promise<void> {
  for await (const _part of exchange.chunks()) break;
  exchange.answer({ status: 200, headers: {}, body: "some of it" });
}

async function readChunks(exchange: Exchange): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of exchange.chunks()) parts.push(part);
  exchange.answer({ status: 200, headers: {}, body: Buffer.concat(parts) });
}

/** Responds with everything parsed from a request. */
function echo(exchange: Exchange): void {
  const { method, target, authority, headers } = exchange;
  const parts: Buffer[] = [];
  exchange.receive({
    data: (part) => void parts.push(part),
    end: () => {
      const body = Buffer.concat(parts).toString("latin1");
      const text = JSON.stringify({ method, target, authority, headers, body });
      exchange.answer({ status: 200, headers: { "content-type": "application/json" }, body: text });
    },
    overloaded: () => exchange.abort(),
  });
}
