import { type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:http2";
import { buffer } from "node:stream/consumers";
import { type DescMessage, fromBinary, type JsonValue, toJson } from "@bufbuild/protobuf";
import type { Shot } from "./generator.ts";

/** The answer to one call. */
export type Answer = {
  readonly status: number;
  readonly body: Buffer;
  readonly trailers: Readonly<Record<string, unknown>>;
};

/** How the messages of an answer are written. */
export type Protocol = "gRPC" | "gRPC-Web" | "Connect" | "Connect JSON" | "Connect stream" | "REST";

/** Sends a call once. */
export function send(url: string, shot: Shot): Promise<Answer> {
  return shot.http === "1" ? overHttp1(url, shot) : overHttp2(url, shot);
}

async function overHttp1(url: string, { path, headers, body }: Shot): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = request(url + path, { method: "POST", headers: { ...headers, "content-length": body.length } });
  sent.on("error", reject).on("response", async (response) => {
    const bytes = await buffer(response).catch(reject);
    if (bytes) resolve({ status: response.statusCode ?? 0, body: bytes, trailers: response.trailers });
  });
  sent.end(body);
  return promise;
}

async function overHttp2(url: string, { path, headers, body }: Shot): Promise<Answer> {
  const session = connect(url);
  try {
    const stream = session.request({ ...headers, ":method": "POST", ":path": path });
    let status = 0;
    let trailers: IncomingHttpHeaders = {};
    stream.on("response", (head) => {
      status = Number(head[":status"]);
      trailers = { ...trailers, ...head };
    });
    stream.on("trailers", (found) => {
      trailers = { ...trailers, ...found };
    });
    stream.end(body);
    return { body: await buffer(stream), status, trailers };
  } finally {
    session.close();
  }
}

/** The messages of an answer as JSON; throws when the call was refused. */
export function messagesOf(answer: Answer, protocol: Protocol, output: DescMessage): JsonValue[] {
  const { status, body, trailers } = answer;
  if (status !== 200) throw new Error(`status ${status}: ${body}`);
  const read = (bytes: Uint8Array) => toJson(output, fromBinary(output, bytes));
  switch (protocol) {
    case "REST":
    case "Connect JSON":
      return [JSON.parse(body.toString())];
    case "Connect":
      return [read(body)];
    case "gRPC": {
      if (trailers["grpc-status"] !== "0") throw new Error(`grpc-status ${trailers["grpc-status"]}`);
      return envelopesOf(body).map(({ data }) => read(data));
    }
    // https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md: the last envelope has the trailers.
    case "gRPC-Web":
      return endedBy(body, 128, (end) => /^grpc-status: ?0\s*$/m.test(end)).map(read);
    // https://connectrpc.com/docs/protocol#streaming-rpcs: the last envelope has the error.
    case "Connect stream":
      return endedBy(body, 2, (end) => !("error" in JSON.parse(end))).map(read);
  }
}

type Envelope = { readonly flags: number; readonly data: Buffer };

function envelopesOf(body: Buffer): Envelope[] {
  const envelopes: Envelope[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    if (end > body.length) throw new Error("an envelope is cut");
    envelopes.push({ flags: body.readUInt8(at), data: body.subarray(at + 5, end) });
    at = end;
  }
  return envelopes;
}

function endedBy(body: Buffer, flag: number, isWell: (end: string) => boolean): Buffer[] {
  const envelopes = envelopesOf(body);
  const last = envelopes.pop();
  if (last?.flags !== flag || !isWell(last.data.toString())) throw new Error(`the answer ends by ${last?.data}`);
  return envelopes.map(({ data }) => data);
}
