import { readFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import type { DescMethod, DescService, JsonValue } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { type Door, doors } from "../client/call_protocols.ts";
import { type Connection, openConnection } from "../client/connection.ts";
import { contractOf, methodNamed, serviceNamed } from "../client/contract.ts";
import { Failure, failureOf } from "../client/failure.ts";
import { invoke } from "../client/invoke.ts";
import { UsageError } from "../client/usage_error.ts";
import { targetOf } from "./client_options.ts";
import { type CommandLine, exitCodes } from "./command.ts";
import { abortWithReader, printAnswer, printLine, reportFailure } from "./messages.ts";
import { print } from "./output.ts";
import { settings } from "./settings.ts";
import { stopSignal } from "./signals.ts";

/** Calls the method on the command line, or lists methods; returns the exit code. */
export async function callMethod(line: CommandLine): Promise<number> {
  const config = settings();
  const door = doorOf(line);
  const stopping = new AbortController();
  void stopSignal().then(() => stopping.abort());
  abortWithReader(stopping);
  try {
    await using connection = await openConnection(config, targetOf(line));
    return await callOver(connection, { line, door, stopping });
  } catch (error) {
    const failure = error instanceof ConnectError ? failureOf(error) : error;
    if (failure instanceof Failure) return reportFailure(failure, { asJson: line.has("json") });
    throw error;
  }
}

type CallOptions = { readonly line: CommandLine; readonly door: Door; readonly stopping: AbortController };

// Reflection is either quick or does not get through at all.
const reflectionMs = 10_000;

async function callOver(connection: Connection, { line, door, stopping }: CallOptions): Promise<number> {
  const [name] = line.words;
  const timeoutMs = timeoutOf(line);
  const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(timeoutMs ?? reflectionMs)]);
  const contract = await contractOf(connection.transport("grpc"), signal);
  const service = name === undefined ? undefined : serviceNamed(contract.services, name);
  if (name === undefined || service) return print(listed(service ? [service] : contract.services));
  const method = methodNamed(contract, name);
  const messages = await requestsOf(line, method);
  const isStream = method.methodKind !== "unary";
  const limit = timeoutMs ?? (isStream ? undefined : 60_000);
  const invocation = { connection, contract, method, door, messages, timeoutMs: limit, signal: stopping.signal };
  try {
    for await (const answer of invoke(invocation)) await (isStream ? printLine(answer) : printAnswer(answer));
  } catch (error) {
    // Only a signal, or the reader of its output, ends a stream of events.
    if (!isStream || !stopping.signal.aborted) throw error;
  }
  return exitCodes.done;
}

const listed = (services: readonly DescService[]): readonly string[] =>
  services.flatMap(({ typeName, methods }) => methods.map(({ name }) => `${typeName}/${name}`));

function doorOf({ text }: CommandLine): Door {
  const name = text("protocol") ?? doors[0];
  const door = doors.find((one) => one === name);
  if (door) return door;
  throw new UsageError(`--protocol must be one of ${doors.join(", ")}, not ${name}`);
}

function timeoutOf({ text }: CommandLine): number | undefined {
  const written = text("timeout");
  if (written === undefined) return undefined;
  const seconds = Number(written);
  if (/^\d+(\.\d+)?$/.test(written) && seconds > 0 && seconds <= 86_400) return Math.ceil(seconds * 1000);
  throw new UsageError(`--timeout must be seconds, more than 0 and at most 86400, not ${written}`);
}

/** The messages of a request: one, or if the client streams, one per line. */
async function requestsOf({ text, words }: CommandLine, method: DescMethod): Promise<readonly JsonValue[]> {
  const [, argument] = words;
  const data = text("data");
  if (argument !== undefined && data !== undefined)
    throw new UsageError("Pass the request only once: as the argument or with --data");
  const json = await readData(data ?? argument ?? "{}");
  if (method.methodKind === "unary" || method.methodKind === "server_streaming") return [parsed(json)];
  return json.split("\n").flatMap((one) => (one.trim() === "" ? [] : [parsed(one)]));
}

async function readData(data: string): Promise<string> {
  if (data === "-" || data === "@-") return textOf(process.stdin);
  if (!data.startsWith("@")) return data;
  return readFile(data.slice(1), "utf8").catch((error: Error) => {
    throw new UsageError(`${data.slice(1)} cannot be read (${error.message})`);
  });
}

function parsed(json: string): JsonValue {
  try {
    return JSON.parse(json) as JsonValue;
  } catch (error) {
    throw new UsageError(`The request is not valid JSON (${error instanceof Error ? error.message : error})`);
  }
}
