import { type Command, type CommandLine, type CommandOption, exitCodes } from "./command.ts";
import { print } from "./output.ts";
import { settings } from "./settings.ts";
import { stopSignal } from "./signals.ts";

const options: readonly CommandOption[] = [
  { name: "url", value: "URL", about: "the service; by default the one of these settings on this machine" },
  { name: "token-file", value: "FILE", about: "the file of an access token; by default the first administrator's" },
  { name: "organization", value: "ID", about: "the organization; by default the caller's own" },
];

/** Imports users and what belongs to them. */
export const importFrom: Command = {
  about: "import users, projects, applications and grants; what is there is passed over",
  takes: { least: 1, most: 1, shown: "FILE" },
  options: [
    { name: "from", value: "FORM", about: "the form of the file: postern (the default), keycloak or auth0" },
    ...options,
  ],
  description: [
    "It may be interrupted and run again, on the same file or a corrected one. Refused items go to FILE.refused with their reasons, and make the exit code 1. A table shows the things of each kind; what changed on the way, or was lost, is in FILE.notes.",
  ],
  examples: [["postern import realm.json --from keycloak", "import the export of a realm, or a folder of it"]],
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
  about: "write an organization as lines that import takes",
  options,
  description: ["Secrets never leave: neither passwords nor client secrets, nor their hashes."],
  examples: [["postern export > organization.ndjson", "export the organization of the administrator"]],
  async run(line) {
    const config = settings();
    const { exportTo } = await import("../transfer/export.ts");
    await exportTo(process.stdout, config, transferOptions(line));
    return exitCodes.done;
  },
};

function transferOptions({ text }: CommandLine) {
  return { url: text("url"), tokenFile: text("token-file"), organization: text("organization") };
}
