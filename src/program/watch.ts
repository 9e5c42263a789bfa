import { targetOptions } from "./client_options.ts";
import type { Command } from "./command.ts";

/** Prints events as they happen. */
export const watch: Command = {
  about: "print the events of the log as they happen",
  options: [
    { name: "types", value: "TYPES", about: "only events of these types, separated by commas" },
    { name: "object", value: "ID", about: "only events of this object" },
    { name: "actor", value: "ID", about: "only events that this user caused" },
    { name: "instance", about: "the events of the instance, of every organization" },
    { name: "after", value: "POSITION", about: "begin after this position; by default with the next event" },
    ...targetOptions,
    { name: "json", about: "write a refusal as JSON" },
  ],
  description: [
    "Each event is one line of JSON, until Ctrl-C. A connection that is lost is opened again after the last event, so that none is missed; the position of the last line continues a watch of an earlier day by --after.",
  ],
  examples: [["postern watch --types user.created,user.deleted", "follow who comes and goes"]],
  run: async (line) => (await import("./print_events.ts")).printEvents(line),
};
