import { UsageError } from "../client/usage_error.ts";
import { targetOf, targetOptions } from "./client_options.ts";
import { type Command, type CommandLine, exitCodes } from "./command.ts";
import { print, warn } from "./output.ts";
import { settings } from "./settings.ts";

/** Checks the database, or a running service from outside. */
export const doctor: Command = {
  about: "check the database, migrations, log, clock and keys, or with --url a running service",
  options: [
    { name: "rebuild", about: "also replay the log and compare the result with the tables" },
    ...targetOptions.map((option) =>
      option.name === "url"
        ? { ...option, about: "check the service there from outside, instead of the database" }
        : option,
    ),
  ],
  description: [
    "Without --url, it checks the database that the settings name. It can run while the service is running.",
    "With --url, it checks a running service as clients see it: certificate, health, readiness, clock, version and every protocol. If there is a token, it also checks that each protocol accepts it. This needs neither the database nor the keys.",
    "The exit code is 1 if a check fails. Warnings do not change it.",
  ],
  examples: [["postern doctor --url https://id.example", "check a service from outside"]],
  async run(line) {
    if (line.text("url") !== undefined) return checkFromOutside(line);
    if (["token-file", "organization", "ca-file"].some((name) => line.text(name) !== undefined))
      throw new UsageError("--token-file, --organization and --ca-file need --url");
    const config = settings();
    const { ok, lines } = await (await import("../maintenance/doctor.ts")).doctor(config, {
      rebuild: line.has("rebuild"),
      tell: warn,
    });
    print(lines);
    return ok ? exitCodes.done : exitCodes.failed;
  },
};

const marks = { ok: "ok  ", warn: "warn", fail: "FAIL" };

async function checkFromOutside(line: CommandLine): Promise<number> {
  if (line.has("rebuild")) throw new UsageError("--rebuild needs the database and cannot be combined with --url");
  const [{ checkup }, { openConnection }] = await Promise.all([
    import("../client/checkup.ts"),
    import("../client/connection.ts"),
  ]);
  await using connection = await openConnection(settings(), targetOf(line));
  const findings = await checkup(connection);
  print(findings.map(({ state, line }) => `${marks[state]}  ${line}`));
  return findings.some(({ state }) => state === "fail") ? exitCodes.failed : exitCodes.done;
}
