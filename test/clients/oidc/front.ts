import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { JWK } from "jose";
import { loopback, serve } from "../../provider/https_server.ts";

/** An https server of this machine: Postern calls applications in no other way. */
export type Front = AsyncDisposable & {
  readonly url: string;
  /** The settings of a Postern that calls it. */
  readonly settings: { readonly outgoingPrivateNetworks: readonly string[]; readonly outgoingCaFile: string };
  /** The URI of a key set with these keys. */
  readonly keySet: (keys: readonly JWK[]) => string;
  /** The paths of the requests that came. */
  readonly paths: readonly string[];
  /** Sends requests for other paths on to a server, as a proxy that ends TLS does. */
  readonly sendTo: (origin: string) => void;
};

/** Opens a front. */
export async function openFront(): Promise<Front> {
  const [paths, sets] = [[] as string[], new Map<string, string>()];
  let target = "";
  const server = await serve((incoming, response) => {
    const { url: path = "" } = incoming;
    paths.push(path);
    const set = sets.get(path);
    if (set) response.writeHead(200, { "content-type": "application/json" }).end(set);
    else void forwarded(incoming, response, target + path).catch((error) => response.destroy(error));
  });
  return {
    url: server.url,
    settings: { outgoingPrivateNetworks: loopback, outgoingCaFile: server.outgoingCaFile },
    keySet(keys) {
      const path = `/keys/${sets.size}`;
      sets.set(path, JSON.stringify({ keys }));
      return server.url + path;
    },
    paths,
    sendTo(origin) {
      target = origin;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function forwarded(incoming: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
  const { method, headers } = incoming;
  const outgoing = request(url, { method, headers: { ...headers, host: new URL(url).host } });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve).once("error", reject);
  });
  await pipeline(incoming, outgoing);
  const answer = await answered;
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  await pipeline(answer, response);
}
