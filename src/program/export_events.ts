import { targetOptions } from "./client_options.ts";
import type { Command } from "./command.ts";

/** Writes the events before a date to a file. */
export const exportEvents: Command = {
  about: "write the events before a date to a file, before a retention policy deletes them",
  takes: { least: 1, most: 1, shown: "FILE" },
  options: [
    { name: "before", value: "DATE", about: "a date, such as 2026-01-31, or a time, such as 2026-01-31T12:00:00Z" },
    ...targetOptions.filter(({ name }) => name !== "organization"),
    { name: "json", about: "write errors as JSON" },
  ],
  description: [
    "Writes the events of the whole instance as lines of JSON, in the order of the log. You can interrupt it and run it again: it goes on after the last whole line in the file. With a later date, it appends the events since then.",
    "The order of the log is that in which events were committed, so the file also has the events of the hour after the date: all earlier ones come before the end of that hour.",
    "It needs the token of somebody who may read the instance, by default the first administrator's.",
  ],
  examples: [["postern export-events events.jsonl --before 2026-01-01", "keep the events of past years in a file"]],
  run: async (line) => (await import("./write_events.ts")).writeEvents(line),
};
