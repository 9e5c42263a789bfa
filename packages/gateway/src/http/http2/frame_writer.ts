import type { Duplex } from "node:stream";
import { firstPageBytes, gatheredMaxBytes, largestPageBytes } from "./limits.ts";
import { ErrorCode, Flag, FrameType, frameHeaderBytes } from "./rfc9113.ts";

const none = Buffer.alloc(0);
const flushesPerPage = 4;

/** Collects the frames of one tick of the event loop, and writes them to the socket together. */
export class FrameWriter {
  readonly #socket: Duplex;
  readonly #onFault: (error: unknown) => void;
  /** The page that frames are written to; written bytes never change. */
  bytes: Buffer = none;
  at = 0;
  #start = 0;
  #parts: Uint8Array[] = [];
  #size = 0;
  #pageBytes = firstPageBytes;
  #isScheduled = false;
  /** Whether the socket asked us to wait for "drain". */
  isBlocked = false;

  constructor(socket: Duplex, onFault: (error: unknown) => void) {
    this.#socket = socket;
    this.#onFault = onFault;
  }

  /** Makes room for this many bytes, which may then be written unchecked. */
  reserve(bytes: number): void {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      // Runs after everything that one read, or one response, triggers.
      process.nextTick(flush, this);
    }
    if (this.bytes.length - this.at >= bytes) return;
    this.#cut();
    this.bytes = Buffer.allocUnsafe(Math.max(bytes, this.#pageBytes));
    this.at = 0;
    this.#start = 0;
  }

  /** Begins a frame in the reserved room; returns its offset. */
  beginFrame(type: number, streamId: number): number {
    const { bytes, at } = this;
    bytes[at + 3] = type;
    bytes[at + 5] = streamId >>> 24;
    bytes[at + 6] = streamId >>> 16;
    bytes[at + 7] = streamId >>> 8;
    bytes[at + 8] = streamId;
    this.at = at + frameHeaderBytes;
    return at;
  }

  /** Ends a frame; `attached` is the number of payload bytes that `attach` will add. */
  endFrame(start: number, flags: number, attached = 0): void {
    const { bytes } = this;
    const length = this.at - start - frameHeaderBytes + attached;
    bytes[start] = length >>> 16;
    bytes[start + 1] = length >>> 8;
    bytes[start + 2] = length;
    bytes[start + 4] = flags;
  }

  /** Adds bytes without copying them. */
  attach(bytes: Uint8Array): void {
    this.#cut();
    this.#parts.push(bytes);
    this.#size += bytes.length;
    if (this.#size >= gatheredMaxBytes) this.flush();
  }

  copy(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.at);
    this.at += bytes.length;
  }

  uint32(value: number): void {
    this.at = this.bytes.writeUInt32BE(value, this.at);
  }

  rstStream(streamId: number, code: number): void {
    this.reserve(frameHeaderBytes + 4);
    const start = this.beginFrame(FrameType.RST_STREAM, streamId);
    this.uint32(code);
    this.endFrame(start, Flag.NONE);
  }

  windowUpdate(streamId: number, increment: number): void {
    this.reserve(frameHeaderBytes + 4);
    const start = this.beginFrame(FrameType.WINDOW_UPDATE, streamId);
    this.uint32(increment);
    this.endFrame(start, Flag.NONE);
  }

  settingsAck(): void {
    this.reserve(frameHeaderBytes);
    this.endFrame(this.beginFrame(FrameType.SETTINGS, 0), Flag.ACK);
  }

  ping(payload: Uint8Array, flags: number): void {
    this.reserve(frameHeaderBytes + payload.length);
    const start = this.beginFrame(FrameType.PING, 0);
    this.copy(payload);
    this.endFrame(start, flags);
  }

  goaway(lastStreamId: number, code: number, debugData = ""): void {
    this.reserve(frameHeaderBytes + 8 + debugData.length);
    const start = this.beginFrame(FrameType.GOAWAY, 0);
    this.uint32(lastStreamId);
    this.uint32(code);
    if (code !== ErrorCode.NO_ERROR) this.at += this.bytes.write(debugData, this.at, "latin1");
    this.endFrame(start, Flag.NONE);
  }

  /** Writes everything to the socket now. */
  flush(): void {
    this.#isScheduled = false;
    this.#cut();
    const parts = this.#parts;
    if (parts.length === 0) return;
    this.#pageBytes = Math.min(Math.max(flushesPerPage * this.#size, firstPageBytes), largestPageBytes);
    // Frames that are cut between two pages cost a write of two parts.
    if (this.bytes.length - this.at < 2 * this.#size) this.bytes = none;
    this.#parts = [];
    this.#size = 0;
    const socket = this.#socket;
    if (!socket.writable) return;
    if (parts.length > 1) socket.cork();
    for (const part of parts) if (!socket.write(part)) this.isBlocked = true;
    if (parts.length > 1) socket.uncork();
  }

  /** Flushes at the end of the tick, where no caller would catch an error. */
  flushScheduled(): void {
    try {
      if (this.#isScheduled) this.flush();
    } catch (error) {
      this.#onFault(error);
    }
  }

  #cut(): void {
    if (this.at === this.#start) return;
    this.#parts.push(this.bytes.subarray(this.#start, this.at));
    this.#size += this.at - this.#start;
    this.#start = this.at;
  }
}

const flush = (writer: FrameWriter) => writer.flushScheduled();
