import { type Command, exitCodes } from "./command.ts";
import { fail, print } from "./output.ts";

/** Writes the contract into a folder. */
export const proto: Command = {
  about: "write the proto files and everything they import to a folder",
  takes: { least: 0, most: 1, shown: "[FOLDER]" },
  description: [
    "The folder is ./proto unless you name another. It must not exist yet, be empty, or contain an earlier copy, which is replaced. Code generators need nothing else, neither a registry nor another repository.",
  ],
  examples: [["postern proto contract && protoc -I contract …", "generate a client"]],
  async run({ words: [folder = "proto"] }) {
    const { writeProtoFolder } = await import("../contract/proto_folder.ts");
    const { ok, lines } = await writeProtoFolder(folder);
    return ok ? print(lines) : fail(exitCodes.failed, lines.join("\n"));
  },
};
