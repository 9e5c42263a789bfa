import { makeDataFolder } from "../config/data_folder.ts";
import type { Command } from "./command.ts";
import { plainLog, print } from "./output.ts";
import { settings } from "./settings.ts";

/** Brings the tables of the database up to date. */
export const migrate: Command = {
  about: "bring the tables of the database up to date",
  description: [
    "Applies the migrations that the database lacks, each in a transaction of its own, as MIGRATION_DATABASE_URL if that is set. A start does so as well; run it apart where the role of the service may not change tables.",
  ],
  async run() {
    const config = settings();
    const [{ openDatabase }, { migrate }] = await Promise.all([
      import("../postgres/open.ts"),
      import("../postgres/migrate.ts"),
    ]);
    if (!config.databaseUrl) await makeDataFolder(config.dataDir);
    await using database = await openDatabase(config, plainLog, { join: true });
    const applied = await migrate({ url: database.migrationUrl, log: plainLog });
    return print(applied.length > 0 ? applied.map((name) => `applied ${name}`) : ["the database is up to date"]);
  },
};

/** Creates the first organization without serving. */
export const bootstrap: Command = {
  about: "create the first organization and administrator, and show how to begin",
  description: [
    "Does what the first start does, without serving, and prints the calls to begin with. It may run beside the service, and any number of times: in place of a call that would be refused it prints why.",
  ],
  async run() {
    const config = settings();
    return print(await (await import("../maintenance/bootstrap.ts")).bootstrap(config));
  },
};

/** Gives an administrator a fresh token. */
export const recover: Command = {
  about: "make a fresh token of the first administrator, or of a user, and reactivate and unlock it",
  options: [{ name: "user", value: "USER", about: "the id or the login name of another user" }],
  description: [
    "The way back in when the token is lost or the administrator is locked out. It needs the database and the master key, and may run beside the service. The token is alone on the standard output; what was done is on the standard error.",
  ],
  examples: [["postern recover > token", "keep a fresh token in a file"]],
  async run({ text }) {
    const config = settings();
    const { token, lines } = await (await import("../maintenance/recover.ts")).recover(config, text("user"));
    process.stderr.write(`${lines.join("\n")}\n`);
    return print([token]);
  },
};
