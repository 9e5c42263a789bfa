import type { Config } from "../src/config/config.ts";
import { startServer } from "../src/server/server.ts";
import { freshDatabase } from "./database.ts";
import { clientOf, type Postern, startPostern } from "./harness.ts";

/** Two nodes on one database. */
export type TwoNodes = AsyncDisposable & {
  readonly one: Postern;
  readonly two: Postern;
  readonly databaseUrl: string;
  /** The nodes in turn. */
  readonly through: (nth: number) => Postern;
};

/** Starts two nodes with the same settings, but for those that are given for the second one. */
export async function startTwoNodes(
  settings: Partial<Config> = {},
  ofTheSecond: Partial<Config> = {},
): Promise<TwoNodes> {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = opened.use(await freshDatabase()).url;
  const one = opened.use(await startPostern({ databaseUrl, ...settings }));
  const { url } = opened.use(await startServer({ ...one.config, ...ofTheSecond }));
  const as = (token?: string) => clientOf(url, token);
  const two = { ...one, url, as, admin: as(one.admin.token), [Symbol.asyncDispose]: async () => {} };
  const stack = opened.move();
  return {
    one,
    two,
    databaseUrl,
    through: (nth) => (nth % 2 === 0 ? one : two),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
