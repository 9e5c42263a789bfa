import { type Client, type ClientCall, connectTimeout, grpcTimeout } from "../client.ts";
import type { Page } from "./chromium.ts";
import type { Carried, Driven, Kind } from "./page.ts";

/** Calls what the page offers. */
export function drive<Name extends keyof Driven>(page: Page, name: Name, ...given: Parameters<Driven[Name]>) {
  return page.run(`driven.${name}`, ...given) as Promise<Awaited<ReturnType<Driven[Name]>>>;
}

/** A client that runs in the page. */
export function clientIn(page: Page, kind: Kind, url: string): Client {
  return {
    deadline: kind.includes("Connect") ? connectTimeout : grpcTimeout,
    call: (clientCall) => drive(page, "call", kind, url, carried(clientCall)),
    async watch(clientCall) {
      const index = await drive(page, "watch", kind, url, carried(clientCall));
      return {
        received: async () => (await drive(page, "received", index)) ?? [],
        [Symbol.asyncDispose]: async () => drive(page, "stop", index),
      };
    },
  };
}

const carried = ({ method, ...rest }: ClientCall): Carried => ({
  ...rest,
  service: method.parent.typeName,
  rpc: method.name,
});
