import type { BodyAccount, Network } from "../body_budget.ts";
import { BodyQueue, type BodySource } from "../body_queue.ts";
import {
  type BodySink,
  type Exchange,
  type Headers,
  type RequestFault,
  type Response,
  type ResponseFields,
  unread,
} from "../exchange.ts";
import type { Head } from "./head.ts";
import { headText, isBodiless } from "./text.ts";

/** The part of a connection that its exchanges use. */
export type ConnectionHandle = {
  /** The headers of a persistent connection. */
  readonly keepAliveHeaders: string;
  /** Whether the connection takes no further requests. */
  readonly closing: boolean;
  /** Writes to the socket; false if the client is slow and the next write should wait for `drained`. */
  readonly send: (bytes: string | Uint8Array) => boolean;
  /** Combines everything sent in this tick into one write. */
  readonly gather: () => void;
  /** Resolves when the client has read what was written, or has disconnected. */
  readonly drained: () => Promise<void>;
  /** Stops reading from the socket until `resume`. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** The response is complete; `keepsAlive` says whether another request may follow. */
  readonly responseSent: (keepsAlive: boolean) => void;
  readonly destroy: () => void;
};

const continueResponse = "HTTP/1.1 100 Continue\r\n\r\n";
const closeHeader = "connection: close\r\n";
// RFC 9112, 3.3: an HTTP/1.0 request without Host is for the server's default name.
const defaultAuthority = "localhost";
// The maximum number of body bytes to hold before a handler reads them; beyond it, we stop reading from the socket.
const maxHeldBytes = 65_536;
// The progress within a write is invisible, so larger bodies are sent in parts, to tell a slow client from one that is gone.
const maxWriteBytes = 65_536;

type Unreadable = { readonly fault?: RequestFault; readonly header?: string | undefined };

/** One request and its response over HTTP/1.1. */
export class Http1Exchange implements Exchange, BodySource {
  readonly version = "1.1";
  readonly method: string;
  readonly target: string;
  readonly network: string | undefined;
  readonly address: string | undefined;
  readonly authority: string | undefined;
  readonly headers: Headers;
  readonly fault: RequestFault | undefined;
  readonly faultyHeader: string | undefined;
  readonly account: BodyAccount;
  onClose: (() => void) | undefined;
  ended: boolean;
  closed = false;
  complete = false;
  /** Whether a response has begun. */
  begun = false;
  readonly #connection: ConnectionHandle;
  readonly #allowsChunks: boolean;
  #keepsAlive: boolean;
  #expectsContinue: boolean;
  #isChunked = false;
  readonly #body: BodyQueue;

  constructor(connection: ConnectionHandle, head: Head, client: Network, { fault, header }: Unreadable = {}) {
    this.#connection = connection;
    this.network = client.name;
    this.address = client.address;
    this.account = client.account();
    this.#body = new BodyQueue(this);
    this.method = head.method;
    this.target = head.target;
    this.headers = head.headers;
    this.authority = head.headers.host ?? defaultAuthority;
    this.fault = fault;
    this.faultyHeader = header;
    this.ended = head.body === 0;
    this.#keepsAlive = head.keepsAlive;
    this.#allowsChunks = head.allowsChunks;
    this.#expectsContinue = head.expectsContinue;
  }

  receive(sink: BodySink): void {
    this.#body.receive(sink);
  }

  async *chunks(): AsyncGenerator<Buffer> {
    try {
      yield* this.#body.parts();
    } finally {
      // Reads and drops the rest of an abandoned body, so that the response arrives.
      this.receive(unread);
    }
  }

  answer({ status, headers, body }: Response): void {
    if (this.closed || this.begun) return;
    const empty = this.method === "HEAD" || isBodiless(status);
    if (!empty && body && body.length > maxWriteBytes) {
      this.#sendInParts(status, headers, Buffer.isBuffer(body) ? body : Buffer.from(body)).catch(() => this.abort());
      return;
    }
    this.begun = true;
    const hasLength = isBodiless(status) || "content-length" in headers;
    const length = hasLength ? "" : `content-length: ${Buffer.byteLength(body ?? "")}\r\n`;
    const text = headText(this.#statusOf(status), headers, length + this.#connectionHeaders());
    if (empty || body === undefined) this.#connection.send(text);
    else if (typeof body === "string") this.#connection.send(text + body);
    else this.#connection.send(joined(text, body));
    this.#sent();
  }

  begin(status: number, headers: ResponseFields): void {
    if (this.closed || this.begun) return;
    this.begun = true;
    const empty = this.method === "HEAD" || isBodiless(status);
    const isSized = empty || "content-length" in headers;
    this.#isChunked = this.#allowsChunks && !isSized;
    // Without chunks, only the end of the connection marks the end of the body.
    if (!isSized && !this.#allowsChunks) this.#keepsAlive = false;
    const framing = this.#isChunked ? "transfer-encoding: chunked\r\n" : "";
    this.#connection.gather();
    this.#connection.send(headText(status, headers, framing + this.#connectionHeaders()));
  }

  write(part: Uint8Array): Promise<void> | undefined {
    if (this.closed || part.length === 0) return undefined;
    const bytes = this.#isChunked ? joined(`${part.length.toString(16)}\r\n`, part, "\r\n") : part;
    this.#connection.gather();
    return this.#connection.send(bytes) ? undefined : this.#connection.drained();
  }

  finish(): void {
    if (this.closed) return;
    if (this.#isChunked) this.#connection.send("0\r\n\r\n");
    this.#sent();
  }

  abort(): void {
    this.#connection.destroy();
  }

  // Called by the connection and by the queue of the body.

  /** Sends 100 (Continue) to a client that is waiting for it: RFC 9110, 10.1.1. */
  sendContinue(): void {
    if (this.#expectsContinue && !this.begun && !this.ended && !this.closed) this.#connection.send(continueResponse);
    this.#expectsContinue = false;
  }

  /** Bytes of the body were consumed. */
  taken(bytes: number): void {
    if (bytes > 0) this.#connection.resume();
  }

  /** Takes a part of the body. */
  data(part: Buffer): void {
    if (this.closed) return;
    this.#body.add(part);
    if (this.#body.length > maxHeldBytes) this.#connection.pause();
  }

  /** The body is complete. */
  end(): void {
    this.ended = true;
    this.#body.end();
  }

  /** Closes without a response, because the client disconnected or sent unreadable bytes. */
  discard(): void {
    if (!this.closed) this.#close();
  }

  async #sendInParts(status: number, headers: ResponseFields, body: Buffer): Promise<void> {
    this.begin(status, { ...headers, "content-length": String(body.length) });
    // The client may delay the response for a long time, during which an unread body must not be held.
    if (!this.#body.hasSink) this.receive(unread);
    for (let at = 0; at < body.length && !this.closed; at += maxWriteBytes)
      await this.write(body.subarray(at, at + maxWriteBytes));
    this.finish();
  }

  // It is the connection that timed out here, not a call, which would be 504.
  #statusOf(status: number): number {
    return this.fault === "DEADLINE_EXCEEDED" ? 408 : status;
  }

  #connectionHeaders(): string {
    // A client that did not get its 100 (Continue) may or may not send the body, so the next bytes are ambiguous.
    if (this.#connection.closing || (this.#expectsContinue && !this.ended)) this.#keepsAlive = false;
    return this.#keepsAlive ? this.#connection.keepAliveHeaders : closeHeader;
  }

  #sent(): void {
    this.complete = true;
    this.#close();
    this.#connection.responseSent(this.#keepsAlive);
  }

  #close(): void {
    this.closed = true;
    this.#body.close();
    this.account.close();
    const { onClose } = this;
    this.onClose = undefined;
    onClose?.();
  }
}

/** Joins head and body for a single write. */
function joined(text: string, body: Uint8Array, after = ""): Uint8Array {
  const bytes = Buffer.allocUnsafe(text.length + body.length + after.length);
  bytes.write(text, 0, "latin1");
  bytes.set(body, text.length);
  bytes.write(after, text.length + body.length, "latin1");
  return bytes;
}
