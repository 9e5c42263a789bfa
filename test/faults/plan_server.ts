import { startPostern } from "../harness.ts";
import { ask } from "../postgres/embedded/holder.ts";
import { startPostgres } from "./postgres.ts";

/** A new database with an administrator, which no service uses. */
export type PlanDatabase = { readonly url: string; readonly adminId: string };

/** A server of PostgreSQL for tests of plans, which it changes by nothing but what they do. */
export type PlanServer = AsyncDisposable & { readonly fresh: () => Promise<PlanDatabase> };

/** Starts it by the programs of a folder; the migrations run once. */
export async function openPlanServer(bin: string): Promise<PlanServer> {
  await using opened = new AsyncDisposableStack();
  const { url } = opened.use(await startPostgres(bin, { autovacuum: "off" }));
  const postern = await startPostern({ databaseUrl: url });
  await postern[Symbol.asyncDispose]();
  const at = (name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;
  let made = 0;
  const stack = opened.move();
  return {
    async fresh() {
      const name = `plans_${++made}`;
      await ask(at("postgres"), `create database ${name} template postern`);
      return { url: at(name), adminId: postern.adminId };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
