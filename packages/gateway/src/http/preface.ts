import type { Socket } from "node:net";
import { readFirstBytes } from "./first_bytes.ts";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The HTTP version of a connection. */
export type Version = "1.1" | "2";

/** Recognizes HTTP/2 by its connection preface, and puts the bytes back; destroys a socket that takes too long. */
export function readPreface(socket: Socket, timeoutMs: number, onVersion: (version: Version) => void): void {
  readFirstBytes(socket, { timeoutMs, decide: versionOf, onDecided: onVersion });
}

function versionOf(received: Buffer) {
  // POST, PUT and PATCH begin like the preface, so the first byte is not enough.
  const isPrefix = received.subarray(0, preface.length).equals(preface.subarray(0, received.length));
  if (isPrefix && received.length < preface.length) return undefined;
  const value: Version = isPrefix ? "2" : "1.1";
  return { value, takenBytes: 0 };
}
