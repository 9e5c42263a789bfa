import { generate, type Load, type LoadOutcome } from "../packages/gateway/bench/load/generator.ts";
import { cpuSecondsOfFamily } from "./hostile/process.ts";

/** The outcome of a load, and the CPU of the server and of the database for one call, in milliseconds. */
export type CostedOutcome = LoadOutcome & { readonly serverMs: number; readonly databaseMs: number };

/** The processes whose CPU counts, with their children. */
export type Payers = { readonly server: number; readonly database: number };

/** Sends a load, and asks the kernel what it cost. */
export async function costed(load: Load, payers: Payers): Promise<CostedOutcome> {
  const before = await cpuOf(payers);
  const outcome = await generate(load);
  const after = await cpuOf(payers);
  const each = (which: keyof Payers) => ((after[which] - before[which]) / (outcome.next - load.from)) * 1000;
  return { ...outcome, serverMs: each("server"), databaseMs: each("database") };
}

const cpuOf = async ({ server, database }: Payers) => ({
  server: await cpuSecondsOfFamily(server),
  database: await cpuSecondsOfFamily(database),
});
