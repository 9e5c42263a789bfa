import type { Readable, Writable } from "node:stream";
import { refuse } from "../errors.ts";

/** Reads a body whole, or refuses one that is too large. */
export function collect(body: Readable, mostBytes: number): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  if (body.destroyed) reject(refuse.because("CANCELLED"));
  const chunks: Buffer[] = [];
  let size = 0;
  body.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= mostBytes) return chunks.push(chunk);
    // The rest is read and dropped, within the time for a body, so that the refusal arrives.
    chunks.length = 0;
    reject(refuse.because("BODY_TOO_LARGE"));
  });
  body.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
  const cancel = (cause?: unknown) => {
    // Every body closes after its end; a refusal costs a stack.
    if (!body.readableEnded) reject(refuse.because("CANCELLED", { cause }));
  };
  body.on("error", cancel).on("close", cancel);
  return promise;
}

/** Sends the parts of an answer as they come, no faster than they are taken. */
export async function pour(into: Writable, body: AsyncIterable<string | Uint8Array>): Promise<void> {
  for await (const part of body) {
    if (into.destroyed) return;
    if (!into.write(part)) await flowing(into);
  }
}

function flowing(into: Writable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const go = () => {
    into.off("drain", go).off("close", go);
    resolve();
  };
  into.on("drain", go).on("close", go);
  return promise;
}

/** Ends a call when its time is over, unless its answer is done by then. */
export function fuse(gone: AbortController, answer: Writable): (milliseconds: number) => void {
  return (milliseconds) => {
    // Made when it is needed: it costs a stack.
    const late = () => new DOMException("the deadline of the call is over", "TimeoutError");
    const timer = setTimeout(() => gone.abort(late()), milliseconds);
    answer.on("close", () => clearTimeout(timer));
  };
}
