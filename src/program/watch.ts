import { targetOptions } from "./client_options.ts";
import type { Command } from "./command.ts";

/** Prints events as they happen. */
export const watch: Command = {
  about: "print the events of the log as they happen",
  options: [
    { name: "types", value: "TYPES", about: "only events of these types, separated by commas" },
    { name: "object", value: "ID", about: "only events of this object" },
    { name: "about-user", value: "ID", about: "only events about this user" },
    { name: "project", value: "ID", about: "only events about this project" },
    { name: "actor", value: "ID", about: "only events that this user caused" },
    { name: "on-behalf-of", value: "ID", about: "only events that somebody caused on behalf of this user" },
    { name: "instance", about: "events of the whole instance, from every organization" },
    { name: "after", value: "POSITION", about: "start after this position; by default with the next event" },
    {
      name: "output",
      short: "o",
      value: "FILE",
      about: "append to this file instead of printing; if it has events already, go on after the last one",
    },
    ...targetOptions,
    { name: "json", about: "write errors as JSON" },
  ],
  description: [
    "Prints each event as one line of JSON until you press Ctrl-C. If the connection is lost, it reconnects and continues after the last event, so none is missed. To continue another day, pass the position of the last line to --after.",
    "With --output, the file itself says where to go on, also after the program was killed: start it again with the same options. --after then only says where an empty file begins.",
  ],
  examples: [
    [
      "postern watch --types user.human_created,user.deleted",
      "follow which people are created, and which users deleted",
    ],
    ["postern watch --instance --after 0 --output events.jsonl", "keep all events in a file"],
  ],
  run: async (line) => (await import("./print_events.ts")).printEvents(line),
};
