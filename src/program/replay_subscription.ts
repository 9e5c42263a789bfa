import { ConnectError, createClient } from "@connectrpc/connect";
import { SubscriptionService } from "../../gen/postern/v1/subscription_pb.ts";
import { openConnection } from "../client/connection.ts";
import { Failure, failureOf } from "../client/failure.ts";
import { UsageError } from "../client/usage_error.ts";
import { targetOf } from "./client_options.ts";
import { type CommandLine, exitCodes } from "./command.ts";
import { reportFailure } from "./messages.ts";
import { settings } from "./settings.ts";

const timeoutMs = 60_000;

/** Calls ReplaySubscription; returns the exit code. */
export async function replaySubscription(line: CommandLine): Promise<number> {
  const [subscriptionId = ""] = line.words;
  const after = line.text("from");
  if (!after) throw new UsageError("--from must be a position, such as that of an event, or 0");
  try {
    await using connection = await openConnection(settings(), targetOf(line));
    const client = createClient(SubscriptionService, connection.transport("connect"));
    await client.replaySubscription({ subscriptionId, after, instance: line.has("instance") }, { timeoutMs });
    return exitCodes.done;
  } catch (error) {
    const failure = error instanceof ConnectError ? failureOf(error) : error;
    if (failure instanceof Failure) return reportFailure(failure, { asJson: line.has("json") });
    throw error;
  }
}
