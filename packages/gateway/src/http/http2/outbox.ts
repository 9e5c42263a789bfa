import type { Duplex } from "node:stream";
import { codes, flags, frameHeaderBytes, types } from "./protocol.ts";

const none = Buffer.alloc(0);
// Less than what Node's buffers do not share; it stays with an idle connection.
const leastPage = 512;
const mostPage = 4032;
const mostGathered = 65_536;

/** Gathers the frames of one turn of the event loop, and gives them to the socket in one write. */
export class Outbox {
  readonly #socket: Duplex;
  readonly #told: (error: unknown) => void;
  /** Where frames are written; what is written there stays as it is. */
  bytes: Buffer = none;
  at = 0;
  #start = 0;
  #parts: Uint8Array[] = [];
  #size = 0;
  #usual = leastPage;
  #awaited = false;
  /** Whether the socket has more than enough to send. */
  choked = false;

  constructor(socket: Duplex, told: (error: unknown) => void) {
    this.#socket = socket;
    this.#told = told;
  }

  /** Makes room for so many bytes, which may then be written at once. */
  reserve(bytes: number): void {
    if (!this.#awaited) {
      this.#awaited = true;
      // After everything that a read, or an answer from elsewhere, has set off.
      process.nextTick(flush, this);
    }
    if (this.bytes.length - this.at >= bytes) return;
    this.#tear();
    this.bytes = Buffer.allocUnsafe(Math.max(bytes, this.#usual));
    this.at = 0;
    this.#start = 0;
  }

  /** Begins a frame in the room that there is; answers where. */
  open(type: number, id: number): number {
    const { bytes, at } = this;
    bytes[at + 3] = type;
    bytes[at + 5] = id >>> 24;
    bytes[at + 6] = id >>> 16;
    bytes[at + 7] = id >>> 8;
    bytes[at + 8] = id;
    this.at = at + frameHeaderBytes;
    return at;
  }

  /** Ends a frame, whose payload may go on for some bytes that come apart. */
  close(start: number, flag: number, apart = 0): void {
    const { bytes } = this;
    const length = this.at - start - frameHeaderBytes + apart;
    bytes[start] = length >>> 16;
    bytes[start + 1] = length >>> 8;
    bytes[start + 2] = length;
    bytes[start + 4] = flag;
  }

  /** Sends bytes as they lie. */
  attach(bytes: Uint8Array): void {
    this.#tear();
    this.#parts.push(bytes);
    this.#size += bytes.length;
    if (this.#size >= mostGathered) this.flush();
  }

  copy(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.at);
    this.at += bytes.length;
  }

  uint32(value: number): void {
    this.at = this.bytes.writeUInt32BE(value, this.at);
  }

  reset(id: number, code: number): void {
    this.reserve(frameHeaderBytes + 4);
    const start = this.open(types.reset, id);
    this.uint32(code);
    this.close(start, flags.none);
  }

  window(id: number, bytes: number): void {
    this.reserve(frameHeaderBytes + 4);
    const start = this.open(types.window, id);
    this.uint32(bytes);
    this.close(start, flags.none);
  }

  ping(payload: Uint8Array, flag: number): void {
    this.reserve(frameHeaderBytes + payload.length);
    const start = this.open(types.ping, 0);
    this.copy(payload);
    this.close(start, flag);
  }

  goaway(lastId: number, code: number, text = ""): void {
    this.reserve(frameHeaderBytes + 8 + text.length);
    const start = this.open(types.goaway, 0);
    this.uint32(lastId);
    this.uint32(code);
    if (code !== codes.none) this.at += this.bytes.write(text, this.at, "latin1");
    this.close(start, flags.none);
  }

  /** Gives all to the socket now. */
  flush(): void {
    this.#awaited = false;
    this.#tear();
    const parts = this.#parts;
    if (parts.length === 0) return;
    this.#usual = Math.min(Math.max(this.#size, leastPage), mostPage);
    [this.#parts, this.#size] = [[], 0];
    const socket = this.#socket;
    if (!socket.writable) return;
    if (parts.length > 1) socket.cork();
    for (const part of parts) if (!socket.write(part)) this.choked = true;
    if (parts.length > 1) socket.uncork();
  }

  /** Sends what there is, as nobody else would catch what goes wrong with it. */
  settle(): void {
    try {
      if (this.#awaited) this.flush();
    } catch (error) {
      this.#told(error);
    }
  }

  #tear(): void {
    if (this.at === this.#start) return;
    this.#parts.push(this.bytes.subarray(this.#start, this.at));
    this.#size += this.at - this.#start;
    this.#start = this.at;
  }
}

const flush = (outbox: Outbox) => outbox.settle();
