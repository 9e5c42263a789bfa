import { type Command, exitCodes } from "./command.ts";
import { print } from "./output.ts";
import { settings } from "./settings.ts";

/** Checks the database. */
export const doctor: Command = {
  about: "check database, migrations, fold, clock and keys",
  options: [{ name: "rebuild", about: "also replay the log, and compare what it gives with the tables" }],
  description: [
    "Checks the database of these settings; it may run beside the service. The exit code is 1 when a check fails.",
  ],
  async run({ has }) {
    const config = settings();
    const { ok, lines } = await (await import("../doctor.ts")).doctor(config, { rebuild: has("rebuild") });
    print(lines);
    return ok ? exitCodes.done : exitCodes.failed;
  },
};
