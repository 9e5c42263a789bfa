import { type Asked, type Client, connectTimeout, grpcTimeout } from "../told.ts";
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
    call: (asked) => drive(page, "call", kind, url, carried(asked)),
    async watch(asked) {
      const index = await drive(page, "watch", kind, url, carried(asked));
      return {
        heard: async () => (await drive(page, "heard", index)) ?? [],
        [Symbol.asyncDispose]: async () => drive(page, "stop", index),
      };
    },
  };
}

const carried = ({ method, ...rest }: Asked): Carried => ({
  ...rest,
  service: method.parent.typeName,
  rpc: method.name,
});
