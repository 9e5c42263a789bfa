import { createHash } from "node:crypto";
import { connect } from "node:net";
import { type Listening, listen } from "../../../src/http/server.ts";

/** One request as a server understood it. */
export type Understood = { readonly method: string; readonly target: string; readonly body: string };

/** The outcome of a connection. */
export type Outcome = {
  /** The requests that were answered. */
  readonly requests: readonly Understood[];
  /** Whether the last answer was a refusal. */
  readonly isRefused: boolean;
};

const limits = {
  messageMaxBytes: 100_000,
  headersMaxBytes: 16_384,
  headerTimeoutMs: 1000,
  bodyTimeoutMs: 1000,
  idleTimeoutMs: 1000,
  streamsMax: 100,
  connectionAgeMs: 0,
  bodiesMaxBytes: 67_108_864,
  unknownStreamsMax: 1000,
  shutdownDelayMs: 0,
  shutdownGraceMs: 0,
};

/** Opens our server, which names the request in the header x-request of each response. */
export function startOwn(onFault: (error: unknown) => void): Promise<Listening> {
  return listen({
    host: "127.0.0.1",
    port: 0,
    limits,
    onFault,
    handle(exchange) {
      const { fault, method, target } = exchange;
      const refuse = () => exchange.answer({ status: 400, headers: {}, body: "" });
      if (fault) return refuse();
      const hash = createHash("sha256");
      exchange.receive({
        overloaded: refuse,
        data: (part) => void hash.update(part),
        end() {
          const request: Understood = { method, target, body: hash.digest("base64url") };
          const text = Buffer.from(JSON.stringify(request)).toString("base64url");
          exchange.answer({ status: 200, headers: { "x-request": text }, body: "" });
        },
      });
    },
  });
}

/** Sends bytes on a new connection, until the server closes. */
export function outcomeOf(port: number, bytes: Buffer): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  socket.on("error", () => {}).on("close", () => resolve(outcomeIn(text)));
  socket.write(bytes);
  return promise;
}

function outcomeIn(text: string): Outcome {
  const requests = [...text.matchAll(/^x-request: ([\w-]+)\r$/gim)].map(([, encoded = ""]) =>
    JSON.parse(Buffer.from(encoded, "base64url").toString()),
  );
  const [status = ""] = text.match(/^HTTP\/1\.[01] [2-5]\d\d/gm)?.slice(-1) ?? [];
  return { requests, isRefused: /[45]\d\d$/.test(status) };
}
