import { whyOf } from "../../packages/gateway/bench/load/tools.ts";
import type { Row } from "../../packages/gateway/bench/report.ts";
import type { Pace } from "../../packages/gateway/bench/rounds.ts";
import { type DatabaseServer, postmasterOf, startDatabaseServer } from "../server.ts";
import { cases, isChosen } from "./cases.ts";
import { compared } from "./compared.ts";
import { footprint, footprintOf } from "./footprint.ts";
import { keycloakCan, startKeycloak } from "./keycloak.ts";
import { openfgaCan, startOpenfga } from "./openfga.ts";
import { posternCan, startPostern } from "./postern.ts";
import { freePort } from "./program.ts";
import type { System } from "./system.ts";

const pool = 32;

const starters = [
  { name: "Postern", can: posternCan, start: startPostern },
  { name: "OpenFGA", can: openfgaCan, start: startOpenfga },
  { name: "Keycloak", can: keycloakCan, start: startKeycloak },
] as const;

/** Compares the operations with the systems that people would pick instead, on one database server. */
export async function peers(pace: Pace, only?: string): Promise<Row[]> {
  await using databases = await startDatabaseServer({ port: await freePort() });
  await using opened = new AsyncDisposableStack();
  const chosen = cases.filter(({ name, callers }) => callers.some((count) => isChosen(name, only, count)));
  const questions = chosen.map(({ question }) => question);
  const isWeighed = isChosen(footprint, only);
  const systems: System[] = [];
  for (const starter of starters.filter(({ can }) => isWeighed || can.some((one) => questions.includes(one)))) {
    const system = await started(databases, starter);
    if (system) systems.push(opened.use(system));
  }
  const comparison = {
    systems,
    pace,
    only,
    database: await postmasterOf(await databases.database("postgres")),
    numbers: new Map(),
  };
  const rows: Row[] = [];
  for (const one of chosen) rows.push(...(await compared(one, comparison)));
  if (isWeighed) for (const system of systems) rows.push(await footprintOf(system, comparison));
  return rows;
}

/** Starts a system, where it is there and starts. */
async function started(databases: DatabaseServer, { name, start }: (typeof starters)[number]) {
  const why = "it was not found; bench/README.md says where it is looked for";
  try {
    const system = await start(databases, pool);
    if (system) return system;
    process.stdout.write(`${name} is left out: ${why}\n`);
  } catch (error) {
    if (name === "Postern") throw error;
    process.stdout.write(`${name} is left out: ${whyOf(error)}\n`);
  }
  return undefined;
}
