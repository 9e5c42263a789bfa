import { type Command, type CommandLine, type CommandOption, exitCodes } from "./command.ts";
import { print } from "./output.ts";
import { settings } from "./settings.ts";
import { stopSignal } from "./signals.ts";

const options: readonly CommandOption[] = [
  { name: "url", value: "URL", about: "the service; by default the one on this machine with these settings" },
  { name: "token-file", value: "FILE", about: "a file with an access token; by default the first administrator's" },
  { name: "organization", value: "ID", about: "the organization; by default the caller's own" },
];

/** Imports users and their data. */
export const importFrom: Command = {
  about: "import users, projects, applications and grants; existing objects are skipped",
  takes: { least: 1, most: 1, shown: "FILE" },
  options: [
    { name: "from", value: "FORM", about: "the format of the file: postern (the default), keycloak or auth0" },
    ...options,
  ],
  description: [
    "You can interrupt it and run it again, with the same file or a corrected one. Refused items go to FILE.refused with their reasons, and the exit code is then 1. A table shows how many objects of each kind were imported. FILE.notes lists what was changed or lost.",
  ],
  examples: [
    ["postern import realm.json --from keycloak", "import a realm that Keycloak exported, to a file or a folder"],
  ],
  async run(line) {
    const config = settings();
    const { importFile } = await import("../transfer/import.ts");
    const stopping = new AbortController();
    void stopSignal().then(() => stopping.abort());
    const { words, text } = line;
    const target = transferOptions(line);
    const { ok, lines } = await importFile(config, {
      file: words[0] ?? "",
      from: text("from"),
      signal: stopping.signal,
      ...target,
    });
    print(lines);
    return ok ? exitCodes.done : exitCodes.failed;
  },
};

/** Exports an organization. */
export const exportAll: Command = {
  about: "write an organization as lines that import can read",
  options,
  description: ["Exports contain no passwords, no client secrets, and no hashes of either."],
  examples: [["postern export > organization.ndjson", "export the administrator's organization"]],
  async run(line) {
    const config = settings();
    const { exportTo } = await import("../transfer/export.ts");
    await exportTo(process.stdout, config, transferOptions(line));
    return exitCodes.done;
  },
};

/** Exports everything that is stored about one user. */
export const exportUser: Command = {
  about: "write everything that is kept about a user as one JSON document",
  takes: { least: 1, most: 1, shown: "USER-ID" },
  options: options.filter(({ name }) => name !== "organization"),
  description: [
    "The document has the user's names and addresses, factors, sessions, access tokens, roles, connected applications and events. It contains no secrets, and nothing about anybody else except for ids. You need the role ORG_OWNER, or a token of the user.",
  ],
  examples: [["postern export-user 06h2m9t4cw7xk3qz8vnr0003 > user.json", "export a user who asked for their data"]],
  async run(line) {
    const config = settings();
    const { exportUserTo } = await import("../transfer/export.ts");
    await exportUserTo(process.stdout, config, { ...transferOptions(line), userId: line.words[0] ?? "" });
    return exitCodes.done;
  },
};

function transferOptions({ text }: CommandLine) {
  return { url: text("url"), tokenFile: text("token-file"), organization: text("organization") };
}
