import { targetOptions } from "./client_options.ts";
import type { Command } from "./command.ts";

/** Has the events of a subscription delivered again. */
export const replay: Command = {
  about: "have the events of a subscription delivered again",
  takes: { least: 1, most: 1, shown: "SUBSCRIPTION" },
  options: [
    {
      name: "from",
      value: "POSITION",
      about: "deliver every event after this position; 0 is the beginning of the log",
    },
    { name: "instance", about: "a subscription of the instance, instead of one of an organization" },
    ...targetOptions,
    { name: "json", about: "write errors as JSON" },
  ],
  description: [
    "Delivers every event after a position, whether the receiver accepted it or not, and resumes the subscription if it was paused or had died. The receiver recognizes an event that it has seen by its webhook-id.",
  ],
  examples: [
    ["postern replay 06h1afgajmqavrwn2yan6gqb --from 58.9f86d081884c7d65", "send again what came after an event"],
  ],
  run: async (line) => (await import("./replay_subscription.ts")).replaySubscription(line),
};
