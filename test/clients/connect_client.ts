import { create, type Message } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { type CallOptions, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  type Asked,
  answered,
  type Client,
  connectTimeout,
  jsonOf,
  listen,
  messageOf,
  refused,
  type Told,
} from "./told.ts";

/** The client of Connect, over any of its transports. */
export function connectClient(transport: Transport, deadline: Client["deadline"] = connectTimeout): Client {
  type Unary = (request: Message, options: CallOptions) => Promise<Message>;
  type Stream = (request: Message, options: CallOptions) => AsyncIterable<Message>;
  const rpc = ({ method }: Asked) => createClient(method.parent, transport)[method.localName] as unknown;
  return {
    deadline,
    async call(asked) {
      const { headers = {}, timeoutMs } = asked;
      let got = new Headers();
      const onHeader = (header: Headers) => {
        got = header;
      };
      const options = { headers, onHeader, ...(timeoutMs && { timeoutMs }) };
      try {
        const answer = await (rpc(asked) as Unary)(messageOf(asked), options);
        return answered(jsonOf(asked.method, answer), Object.fromEntries(got));
      } catch (error) {
        return refusedBy(ConnectError.from(error));
      }
    },
    watch: async (asked) =>
      listen(async function* (signal) {
        const stream = (rpc(asked) as Stream)(messageOf(asked), { headers: asked.headers ?? {}, signal });
        for await (const message of stream) yield jsonOf(asked.method, message);
      }),
  };
}

function refusedBy({ code, rawMessage: message, details, metadata }: ConnectError): Told {
  const any = details.map((detail) => {
    if (!("type" in detail)) throw new Error("a detail that did not come over the wire");
    return create(AnySchema, { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value });
  });
  return refused({ code, message, details: any }, Object.fromEntries(metadata));
}
