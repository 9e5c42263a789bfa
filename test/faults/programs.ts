import { spawnSync } from "node:child_process";
import type { Reporter } from "vitest/node";
import { missingPostgres } from "./postgres_versions.ts";

type Run = "short" | "long";

// The programs that tests of faults need, with what runs by each, and a command that succeeds where it is installed.
const programs = {
  "systemd-analyze": { run: "short", tests: "the unit of systemd", command: ["systemd-analyze", "--version"] },
  pgbouncer: { run: "short", tests: "a node behind PgBouncer", command: ["pgbouncer", "--version"] },
  patroni: {
    run: "long",
    tests: "a cluster that loses its primary",
    command: ["sh", "-c", "patroni --version && etcd --version"],
  },
  haproxy: { run: "short", tests: "nodes behind HAProxy", command: ["haproxy", "-v"] },
  nginx: { run: "short", tests: "three nodes behind nginx", command: ["nginx", "-v"] },
  mount: {
    run: "short",
    tests: "a disk that fills up",
    command: ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
  },
  pg_dump: { run: "short", tests: "a dump restored into a new server", command: ["pg_dump", "--version"] },
  promtool: { run: "short", tests: "the alerts of Prometheus", command: ["promtool", "--version"] },
  helm: { run: "short", tests: "the chart of Helm", command: ["helm", "version"] },
  faketime: { run: "short", tests: "a node whose clock jumps", command: ["faketime", "--version"] },
} satisfies Record<string, { run: Run; tests: string; command: [string, ...string[]] }>;

/** A program that tests of faults need. */
export type Program = keyof typeof programs;

/** Whether the machine has the program. */
export function found(name: Program): boolean {
  const [command, ...more] = programs[name].command;
  return spawnSync(command, more).status === 0;
}

/** Says at the end of a run, in one line for each program that is missing, which tests did not run and which command failed. */
export function reportSkipped(wanted: Run): Reporter {
  return {
    onTestRunEnd() {
      for (const [name, { run, tests, command }] of Object.entries(programs))
        if (run === wanted && !found(name as Program))
          console.log(`skipped: ${tests}, because \`${command.join(" ")}\` does not run`);
      for (const version of missingPostgres())
        console.log(`skipped: PostgreSQL ${version}, because npm could not fetch it`);
    },
  };
}
