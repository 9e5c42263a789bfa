import type { HttpClient, HttpResponse } from "../wire/http.ts";
import { connectHttp1 } from "../wire/http1.ts";
import { connectHttp2 } from "../wire/http2.ts";
import type { FuzzedCall } from "./call.ts";

/** Sends requests over one connection of each version of HTTP, which is made anew when the server has closed it. */
export type Sender = Disposable & {
  /** Returns the response; undefined where the client refuses to send, or the server closes the connection. */
  readonly send: (call: FuzzedCall) => Promise<HttpResponse | undefined>;
};

const silenceMs = 30_000;

/** Opens the connections. */
export function openSender(url: string): Sender {
  const open = { "1.1": () => connectHttp1(url), "2": () => connectHttp2(url) };
  const clients: Partial<Record<FuzzedCall["version"], HttpClient>> = {};
  return {
    async send({ version, request }) {
      const client = clients[version] ?? open[version]();
      clients[version] = client;
      const response = await answered(() => client.send(request)).catch((error) => {
        if (error instanceof Silence) throw error;
        return undefined;
      });
      if (response && response.status > 0) return response;
      client[Symbol.dispose]();
      delete clients[version];
      return undefined;
    },
    [Symbol.dispose]() {
      for (const client of Object.values(clients)) client[Symbol.dispose]();
    },
  };
}

class Silence extends Error {}

async function answered(ask: () => Promise<HttpResponse>): Promise<HttpResponse> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Silence("no answer")), silenceMs);
  return Promise.race([ask(), promise]).finally(() => clearTimeout(timer));
}
