import { type Command, exitCodes } from "./command.ts";
import { fail, print } from "./output.ts";

/** Writes the contract into a folder. */
export const proto: Command = {
  about: "write the contract with all that it imports into a folder",
  takes: { least: 0, most: 1, shown: "[FOLDER]" },
  description: [
    "The folder is ./proto unless it is named. It is made, or was empty, or holds an earlier copy, which is replaced. A generator needs nothing else: no registry, and no other repository.",
  ],
  examples: [["postern proto contract && protoc -I contract …", "generate a client"]],
  async run({ words: [folder = "proto"] }) {
    const { writeProtoFolder } = await import("../contract/proto_folder.ts");
    const { ok, lines } = await writeProtoFolder(folder);
    return ok ? print(lines) : fail(exitCodes.failed, lines.join("\n"));
  },
};
