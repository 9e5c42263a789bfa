import { doors } from "../client/door.ts";
import { targetOptions } from "./client_options.ts";
import type { Command } from "./command.ts";

/** Calls an operation of a running service. */
export const call: Command = {
  about: "call an operation of a running service",
  takes: { least: 0, most: 2, shown: "[SERVICE/METHOD [JSON]]" },
  options: [
    {
      name: "data",
      short: "d",
      value: "JSON",
      about: "the request, in place of the argument; @FILE reads it from a file, - from the standard input",
    },
    { name: "protocol", short: "p", value: "NAME", about: `${doors.join(", ")}; by default ${doors[0]}` },
    ...targetOptions,
    { name: "timeout", value: "SECONDS", about: "the longest wait for an answer; by default 60, for a stream none" },
    { name: "json", about: "write a refusal as JSON" },
  ],
  description: [
    "Finds the method by reflection, and by the contract of this program where reflection is switched off. The package may be left out of its name. Without a method it lists all of them, and with a service alone the methods of that.",
    "The answer is JSON on the standard output: indented on a terminal, else one line. A stream has a line for each message, until Ctrl-C. A refusal is on the standard error with its reason and every wrong field; its class is the exit code.",
  ],
  examples: [
    ['postern call UserService/GetUser \'{"userId": "me"}\'', "read the administrator"],
    ["postern call ProjectService/CreateProject -d @project.json -p grpc", "send the request of a file by gRPC"],
    [
      "postern call UserService/ListUsers --url https://id.example --token-file token",
      "ask another service, as the holder of a token",
    ],
  ],
  run: async (line) => (await import("./call_method.ts")).callMethod(line),
};
