import { openConnection } from "../client/connection.ts";
import { type EventFilter, watchEvents } from "../client/events.ts";
import { Failure } from "../client/failure.ts";
import { targetOf } from "./client_options.ts";
import { type CommandLine, exitCodes } from "./command.ts";
import { type EventFile, eventFileOf } from "./event_file.ts";
import { abortWithReader, printLine, reportFailure } from "./messages.ts";
import { warn } from "./output.ts";
import { settings } from "./settings.ts";
import { stopSignal } from "./signals.ts";

/** Prints events until a signal; returns the exit code. */
export async function printEvents(line: CommandLine): Promise<number> {
  const config = settings();
  const stopping = new AbortController();
  void stopSignal().then(() => stopping.abort());
  abortWithReader(stopping);
  const { signal } = stopping;
  const onLost = (position?: string) =>
    warn(
      position === undefined
        ? "the connection was lost; trying again"
        : `the log lost its last events in a restore or a failover; continuing after ${position === "0" ? "its beginning" : position}`,
    );
  try {
    await using connection = await openConnection(config, targetOf(line));
    await using output = await outputOf(line);
    const { positions } = output;
    const filter = filterOf(line);
    const after = positions.at(-1) ?? filter.after;
    const options = { signal, onLost, seen: positions };
    for await (const event of watchEvents(connection, { ...filter, after }, options)) await output.write(event);
  } catch (error) {
    if (signal.aborted) return exitCodes.done;
    if (error instanceof Failure) return reportFailure(error, { asJson: line.has("json") });
    throw error;
  }
  return exitCodes.done;
}

/** The destination of events: a file that says where to continue, or standard output. */
async function outputOf({ text }: CommandLine): Promise<EventFile> {
  const path = text("output");
  if (path === undefined) return { positions: [], write: printLine, async [Symbol.asyncDispose]() {} };
  return eventFileOf(path);
}

function filterOf({ text, has }: CommandLine): EventFilter {
  const types = text("types")?.split(",") ?? [];
  return {
    instance: has("instance"),
    objectId: text("object") ?? "",
    aboutUserId: text("about-user") ?? "",
    projectId: text("project") ?? "",
    actorId: text("actor") ?? "",
    onBehalfOfId: text("on-behalf-of") ?? "",
    types: types.map((type) => type.trim()),
    after: text("after") ?? "",
  };
}
