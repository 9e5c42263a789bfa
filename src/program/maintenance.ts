import { makeDataFolder } from "../config/data_folder.ts";
import type { Command } from "./command.ts";
import { plainLog, print } from "./output.ts";
import { settings } from "./settings.ts";

/** Brings the tables of the database up to date. */
export const migrate: Command = {
  about: "bring the database tables up to date",
  description: [
    "Applies the missing migrations step by step, and numbers the events that an earlier release wrote, through MIGRATION_DATABASE_URL if that is set. The service does the same when it starts. You can interrupt it: the next run continues at the step where it stopped. Run this command beforehand if the role of the service may not change tables.",
  ],
  async run() {
    const config = settings();
    const [{ connectMaintenance, openDatabase }, { migrate }, { numberBacklog }, { StartError }] = await Promise.all([
      import("../postgres/open.ts"),
      import("../postgres/migrate.ts"),
      import("../events/numbering.ts"),
      import("../postgres/failure.ts"),
    ]);
    if (!config.databaseUrl) await makeDataFolder(config.dataDir);
    await using database = await openDatabase(config, plainLog, { join: true });
    const applied = await migrate({ url: database.migrationUrl, log: plainLog });
    await using client = await connectMaintenance(database, plainLog);
    const isNumbered = await numberBacklog(client.sql, plainLog);
    if (!isNumbered) throw new StartError("The events of an earlier release have no numbers yet: run migrate again");
    return print(applied.length > 0 ? applied.map((name) => `applied ${name}`) : ["the database is up to date"]);
  },
};

/** Creates the first organization without serving. */
export const bootstrap: Command = {
  about: "create the first organization and administrator, and print calls to try",
  description: [
    "Does what the first start does, without serving, and prints calls to try. You can run it repeatedly and while the service is running. If a call would be refused, it prints the reason instead.",
  ],
  async run() {
    const config = settings();
    return print(await (await import("../maintenance/bootstrap.ts")).bootstrap(config));
  },
};

/** Gives an administrator a fresh token. */
export const recover: Command = {
  about: "create a new token for the first administrator or another user, and reactivate and unlock that user",
  options: [
    { name: "user", value: "USER", about: "the id, the login name or the email address of another user" },
    { name: "organization", value: "ID", about: "the organization of the user, if the login name is its own" },
    { name: "link", about: "print a link to choose a new password or passkey, instead of a token" },
  ],
  description: [
    "Use it if you have lost the token or the administrator is locked out. It needs the database and the master key, and can run while the service is running. Standard output contains nothing but the token; the steps go to standard error.",
  ],
  examples: [
    ["postern recover > token", "save a new token in a file"],
    [
      "postern recover --link",
      "print a link that works once, within ten minutes, from any machine that reaches the pages",
    ],
  ],
  async run({ text, has }) {
    const config = settings();
    const wanted = { wanted: text("user"), organizationId: text("organization"), link: has("link") };
    const { token, lines } = await (await import("../maintenance/recover.ts")).recover(config, wanted);
    process.stderr.write(`${lines.join("\n")}\n`);
    return print([token]);
  },
};
