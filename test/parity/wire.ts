import { Agent, request as requestHttp1 } from "node:http";
import { connect } from "node:http2";
import { request as requestHttps, Agent as SecureAgent } from "node:https";

/** A request, byte for byte. */
export type Sent = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

/** What came back, byte for byte. */
export type Got = {
  readonly status: number;
  /** Headers and trailers, by their lower-case names. */
  readonly fields: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

/** One connection to a server. */
export type Wire = Disposable & { readonly send: (sent: Sent) => Promise<Got> };

/** Connects by HTTP/1.1. */
export function wire1(url: string): Wire {
  const options = { keepAlive: true, maxSockets: 1, ...trusting };
  const secure = url.startsWith("https:");
  const [agent, request] = secure ? [new SecureAgent(options), requestHttps] : [new Agent(options), requestHttp1];
  const send = ({ method, path, headers, body }: Sent) =>
    new Promise<Got>((resolve, reject) => {
      const length = method === "GET" || method === "DELETE" ? {} : { "content-length": String(body.length) };
      const asking = request(url + path, { agent, method, headers: { ...headers, ...length } }, async (answer) => {
        const whole = await collected(answer);
        const fields = { ...textsOf(answer.headers), ...textsOf(answer.trailers) };
        resolve({ status: answer.statusCode ?? 0, fields, body: whole });
      });
      asking.on("error", reject).end(body);
    });
  return { send, [Symbol.dispose]: () => agent.destroy() };
}

// A certificate of a test is signed by nobody.
const trusting = { rejectUnauthorized: false };

/** Connects by HTTP/2: with prior knowledge, or by ALPN. */
export function wire2(url: string): Wire {
  const session = connect(url, trusting);
  const send = async ({ method, path, headers, body }: Sent): Promise<Got> => {
    const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: body.length === 0 });
    let fields: Record<string, string> = {};
    const keep = (more: object) => {
      fields = { ...fields, ...textsOf(more) };
    };
    stream.on("response", keep).on("trailers", keep);
    if (body.length > 0) stream.end(body);
    const whole = await collected(stream);
    return { status: Number(fields[":status"]), fields, body: whole };
  };
  return { send, [Symbol.dispose]: () => session.destroy() };
}

async function collected(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

const textsOf = (fields: object) =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, `${value}`]));
