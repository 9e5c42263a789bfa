import { spawnSync } from "node:child_process";
import { postgresBins } from "./postgres.ts";

// The programs that tests of faults need, with what runs by each, and a command that succeeds where it is installed.
const programs = {
  "systemd-analyze": { tests: "the unit of systemd", command: ["systemd-analyze", "--version"] },
  postgres: { tests: "each installed version of PostgreSQL", command: [`${postgresBins()[0]}/postgres`, "--version"] },
  pgbouncer: { tests: "a node behind PgBouncer", command: ["pgbouncer", "--version"] },
  haproxy: { tests: "two nodes behind HAProxy", command: ["haproxy", "-v"] },
} satisfies Record<string, { tests: string; command: [string, ...string[]] }>;

/** A program that tests of faults need. */
export type Program = keyof typeof programs;

/** Whether the machine has the program. */
export function found(name: Program): boolean {
  const [command, ...more] = programs[name].command;
  return spawnSync(command, more).status === 0;
}

/** One line for each program that is missing: the tests that did not run, and the command that failed. */
export const skipped = (): string[] =>
  Object.entries(programs).flatMap(([name, { tests, command }]) =>
    found(name as Program) ? [] : [`skipped: ${tests}, because \`${command.join(" ")}\` does not run`],
  );
