import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that a provider received. */
export type Received = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string };

/** A provider of SMS on this machine. */
export type Provider = AsyncDisposable & { readonly url: string; readonly received: Received[] };

/** Answers a request; by default everything is taken. */
export type Answering = (response: ServerResponse, received: Received, nth: number) => void;

/** Starts a provider with scripted answers. */
export async function startProvider(answer: Answering = (response) => response.end()): Promise<Provider> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const one = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks).toString("utf8") };
    answer(response, one, received.push(one));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sms`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The ids of the messages that were posted to a webhook. */
export const idsOf = (received: readonly Received[]) => received.map(({ headers }) => String(headers["webhook-id"]));
