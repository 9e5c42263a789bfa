import { once } from "node:events";
import { styleText } from "node:util";
import type { JsonObject } from "@bufbuild/protobuf";
import { type Failure, failureJson, failureLines } from "../client/failure.ts";
import { exitCodeOf } from "./exit_code.ts";
import { fail } from "./output.ts";

/** Writes a response: indented and coloured on a terminal, otherwise on one line. */
export function printAnswer(answer: JsonObject): Promise<void> {
  const { isTTY } = process.stdout;
  return write(isTTY ? coloured(withoutEscapes(JSON.stringify(answer, null, 2))) : JSON.stringify(answer));
}

/** Writes a message of a stream on one line. */
export function printLine(message: JsonObject): Promise<void> {
  return write(withoutEscapes(JSON.stringify(message)));
}

/** Writes a failure, for people or as JSON; returns the exit code. */
export function reportFailure(failure: Failure, { asJson }: { readonly asJson: boolean }): number {
  const code = exitCodeOf(failure.code);
  if (!asJson) return fail(code, failureLines(failure).join("\n"));
  process.stderr.write(`${JSON.stringify(failureJson(failure))}\n`);
  return code;
}

/** Aborts when the reader of the output goes away, as head does. */
export function abortWithReader(stopping: AbortController): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    stopping.abort();
  });
}

async function write(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`))
    await Promise.race([once(process.stdout, "drain"), once(process.stdout, "close")]);
}

// JSON does not escape these, and some terminals obey them.
const withoutEscapes = (json: string): string =>
  json.replaceAll(/[\u007f-\u009f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

const coloured = (json: string): string =>
  json.replaceAll(/^( *)("(?:[^"\\]|\\.)*")(?=:)/gm, (_, margin: string, key: string) => {
    return margin + styleText("cyan", key, { stream: process.stdout });
  });
