import { ConnectError, createClient } from "@connectrpc/connect";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { type Connection, openConnection } from "../client/connection.ts";
import { watchEvents } from "../client/events.ts";
import { Failure, failureOf } from "../client/failure.ts";
import { UsageError } from "../client/usage_error.ts";
import { targetOf } from "./client_options.ts";
import { type CommandLine, exitCodes } from "./command.ts";
import { eventFileOf } from "./event_file.ts";
import { reportFailure } from "./messages.ts";
import { print, warn } from "./output.ts";
import { settings } from "./settings.ts";
import { stopSignal } from "./signals.ts";

/** Writes events to a file until it has all those before a date; returns the exit code. */
export async function writeEvents(line: CommandLine): Promise<number> {
  const [path = ""] = line.words;
  const before = dateOf(line.text("before"));
  const stopping = new AbortController();
  void stopSignal().then(() => stopping.abort());
  try {
    await using connection = await openConnection(settings(), targetOf(line));
    const written = await copy(connection, { path, until: before + inOrderMs, signal: stopping.signal });
    print([`${written} events appended to ${path}; to go on, run the command again with a later date`]);
    return exitCodes.done;
  } catch (error) {
    if (stopping.signal.aborted) {
      warn(`stopped; to go on after the last event in ${path}, run the command again`);
      return exitCodes.failed;
    }
    if (error instanceof Failure) return reportFailure(error, { asJson: line.has("json") });
    throw error;
  } finally {
    stopping.abort();
  }
}

// An event has the time of its call, but its number from when it was committed.
const inOrderMs = 3_600_000;

type Copy = { readonly path: string; readonly until: number; readonly signal: AbortSignal };

/** Appends events to a file, up to the first one after a time, or the last that there is now; returns how many. */
async function copy(connection: Connection, { path, until, signal }: Copy): Promise<number> {
  await using file = await eventFileOf(path);
  const end = numberOf(await lastPosition(connection, signal));
  const after = file.positions.at(-1) ?? "0";
  if (numberOf(after) >= end) return 0;
  const none = { objectId: "", aboutUserId: "", projectId: "", actorId: "", onBehalfOfId: "", types: [] };
  const filter = { instance: true, ...none, after };
  const onLost = () => warn("the connection was lost; trying again");
  let written = 0;
  for await (const event of watchEvents(connection, filter, { signal, onLost, seen: file.positions })) {
    if (Date.parse(String(event.time)) >= until) break;
    await file.write(event);
    written++;
    if (numberOf(String(event.position)) >= end) break;
  }
  return written;
}

async function lastPosition(connection: Connection, signal: AbortSignal): Promise<string> {
  const { listEvents } = createClient(EventService, connection.transport("connect"));
  const { events } = await listEvents({ instance: true, pageSize: 1 }, { signal }).catch((error: unknown) => {
    throw failureOf(ConnectError.from(error));
  });
  return events[0]?.position ?? "0";
}

const numberOf = (position: string): bigint => BigInt(position.split(".")[0] ?? 0);

function dateOf(text = ""): number {
  const time = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new UsageError("--before must be a date, such as 2026-01-31, or a time");
  return time;
}
