import { create, type Message } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { type CallOptions, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  answered,
  type Client,
  type ClientAnswer,
  type ClientCall,
  connectTimeout,
  jsonOf,
  listen,
  messageOf,
  refused,
} from "./client.ts";

/** The client of Connect, over any of its transports. */
export function connectClient(transport: Transport, deadline: Client["deadline"] = connectTimeout): Client {
  type Unary = (request: Message, options: CallOptions) => Promise<Message>;
  type Stream = (request: Message, options: CallOptions) => AsyncIterable<Message>;
  const rpc = ({ method }: ClientCall) => createClient(method.parent, transport)[method.localName] as unknown;
  return {
    deadline,
    async call(clientCall) {
      const { headers = {}, timeoutMs } = clientCall;
      let got = new Headers();
      const onHeader = (header: Headers) => {
        got = header;
      };
      const options = { headers, onHeader, ...(timeoutMs && { timeoutMs }) };
      try {
        const answer = await (rpc(clientCall) as Unary)(messageOf(clientCall), options);
        return answered(jsonOf(clientCall.method, answer), Object.fromEntries(got));
      } catch (error) {
        return refusedBy(ConnectError.from(error));
      }
    },
    watch: async (clientCall) =>
      listen(async function* (signal) {
        const stream = (rpc(clientCall) as Stream)(messageOf(clientCall), {
          headers: clientCall.headers ?? {},
          signal,
        });
        for await (const message of stream) yield jsonOf(clientCall.method, message);
      }),
  };
}

function refusedBy({ code, rawMessage: message, details, metadata }: ConnectError): ClientAnswer {
  const any = details.map((detail) => {
    if (!("type" in detail)) throw new Error("a detail that did not come over the wire");
    return create(AnySchema, { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value });
  });
  return refused({ code, message, details: any }, Object.fromEntries(metadata));
}
