import type { Sql } from "../../../src/postgres/pool/connect.ts";

/** A client whose statements run by way of a function; fragments, which nobody awaits, become part of others as they are. */
export const whenAwaited = (sql: Sql, run: (text: string, ask: () => Promise<unknown>) => Promise<unknown>): Sql =>
  new Proxy(sql, {
    apply(target, self, args) {
      const made = Reflect.apply(target, self, args);
      const ask = made.then.bind(made);
      const then: PromiseLike<unknown>["then"] = (taken, refused) =>
        run(String(args[0]), () => new Promise(ask)).then(taken, refused);
      return Object.assign(made, { then });
    },
  });
