import { doors } from "../client/call_protocols.ts";
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
      about: "the request, instead of the argument; @FILE reads it from a file, - from standard input",
    },
    { name: "protocol", short: "p", value: "NAME", about: `${doors.join(", ")}; by default ${doors[0]}` },
    ...targetOptions,
    {
      name: "timeout",
      value: "SECONDS",
      about: "how long to wait for the response; by default 60, without limit for a stream",
    },
    { name: "json", about: "write errors as JSON" },
  ],
  description: [
    "Finds the method by reflection, or in this program's own contract if reflection is switched off. You can leave out the package. Without a method, it lists all methods; with only a service, those of that service.",
    "The response goes to standard output as JSON, indented on a terminal and otherwise on one line. A stream prints a line for each message until you press Ctrl-C. An error goes to standard error with its reason and every wrong field, and its class determines the exit code.",
  ],
  examples: [
    ['postern call UserService/GetUser \'{"userId": "me"}\'', "read the administrator"],
    ["postern call ProjectService/CreateProject -d @project.json -p grpc", "send a request from a file over gRPC"],
    [
      "postern call UserService/ListUsers --url https://id.example --token-file token",
      "call another service with the token in a file",
    ],
  ],
  run: async (line) => (await import("./call_method.ts")).callMethod(line),
};
