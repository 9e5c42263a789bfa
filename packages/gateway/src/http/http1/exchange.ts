import type { BodyAccount } from "../body_budget.ts";
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

/** The connection, as the request that runs on it sees it. */
export type ConnectionHandle = {
  /** Says in headers that the connection goes on. */
  readonly keeping: string;
  /** Whether the connection takes no further request. */
  readonly leaving: boolean;
  /** Sends; false when the client is slower than that. */
  readonly send: (bytes: string | Uint8Array) => boolean;
  /** Until the client has taken what was sent, or is gone. */
  readonly drained: () => Promise<void>;
  /** Reads no more for a while, and goes on. */
  readonly hold: () => void;
  readonly release: () => void;
  /** The answer is complete; `keeps` says whether another request may follow. */
  readonly answered: (keeps: boolean) => void;
  readonly destroy: () => void;
};

const proceed = "HTTP/1.1 100 Continue\r\n\r\n";
const ending = "connection: close\r\n";
// RFC 9112, 3.3: a request of HTTP/1.0 without Host is for the default name of the server.
const defaultAuthority = "localhost";
// What nobody has asked for yet: a client sends no more of it until somebody does.
const mostHeld = 65_536;
// A write is out whole or not at all, as far as can be seen: what is larger is sent in parts, to tell a slow client from none.
const partBytes = 65_536;

/** One request of HTTP/1.1 with its answer. */
export class Http1Exchange implements Exchange, BodySource {
  readonly version = "1.1";
  readonly method: string;
  readonly target: string;
  readonly authority: string | undefined;
  readonly headers: Headers;
  readonly fault: RequestFault | undefined;
  readonly account: BodyAccount;
  onClose: (() => void) | undefined;
  ended: boolean;
  closed = false;
  complete = false;
  /** Whether an answer has begun. */
  begun = false;
  readonly #host: ConnectionHandle;
  readonly #chunks: boolean;
  #keeps: boolean;
  #expects: boolean;
  #framed = false;
  readonly #body: BodyQueue;

  constructor(host: ConnectionHandle, head: Head, account: BodyAccount, fault?: RequestFault) {
    this.#host = host;
    this.account = account;
    this.#body = new BodyQueue(this);
    this.method = head.method;
    this.target = head.target;
    this.headers = head.headers;
    this.authority = head.headers.host ?? defaultAuthority;
    this.fault = fault;
    this.ended = head.body === 0;
    this.#keeps = head.keeps;
    this.#chunks = head.chunks;
    this.#expects = head.expects;
  }

  receive(sink: BodySink): void {
    this.#body.receive(sink);
  }

  async *chunks(): AsyncGenerator<Buffer> {
    try {
      yield* this.#body.parts();
    } finally {
      // What is left when nobody wants more is read and dropped, so that the answer arrives.
      this.receive(unread);
    }
  }

  answer({ status, headers, body }: Response): void {
    if (this.closed || this.begun) return;
    const empty = this.method === "HEAD" || isBodiless(status);
    if (!empty && body && body.length > partBytes) {
      this.#pour(status, headers, Buffer.isBuffer(body) ? body : Buffer.from(body)).catch(() => this.abort());
      return;
    }
    this.begun = true;
    const isSaid = isBodiless(status) || "content-length" in headers;
    const length = isSaid ? "" : `content-length: ${Buffer.byteLength(body ?? "")}\r\n`;
    const text = headText(this.#statusOf(status), headers, length + this.#connection());
    if (empty || body === undefined) this.#host.send(text);
    else if (typeof body === "string") this.#host.send(text + body);
    else this.#host.send(joined(text, body));
    this.#finished();
  }

  begin(status: number, headers: ResponseFields): void {
    this.#begin(status, headers);
  }

  write(part: Uint8Array): Promise<void> | undefined {
    return this.#write(part);
  }

  finish(): void {
    this.#finish();
  }

  #begin(status: number, headers: ResponseFields): void {
    if (this.closed || this.begun) return;
    this.begun = true;
    const empty = this.method === "HEAD" || isBodiless(status);
    const isSized = empty || "content-length" in headers;
    this.#framed = this.#chunks && !isSized;
    // Without chunks only the end of the connection is the end of the body.
    if (!isSized && !this.#chunks) this.#keeps = false;
    const framing = this.#framed ? "transfer-encoding: chunked\r\n" : "";
    this.#host.send(headText(status, headers, framing + this.#connection()));
  }

  #write(part: Uint8Array): Promise<void> | undefined {
    if (this.closed || part.length === 0) return undefined;
    const bytes = this.#framed ? joined(`${part.length.toString(16)}\r\n`, part, "\r\n") : part;
    return this.#host.send(bytes) ? undefined : this.#host.drained();
  }

  #finish(): void {
    if (this.closed) return;
    if (this.#framed) this.#host.send("0\r\n\r\n");
    this.#finished();
  }

  abort(): void {
    this.#host.destroy();
  }

  // What follows is for the body and the connection.

  /** Tells a client that asked first to send its body. */
  proceed(): void {
    if (this.#expects && !this.begun && !this.ended && !this.closed) this.#host.send(proceed);
    this.#expects = false;
  }

  /** Bytes of the body are held no more. */
  taken(bytes: number): void {
    if (bytes > 0) this.#host.release();
  }

  /** Takes a part of the body. */
  data(part: Buffer): void {
    if (this.closed) return;
    this.#body.add(part);
    if (this.#body.length > mostHeld) this.#host.hold();
  }

  /** The body is at its end. */
  end(): void {
    this.ended = true;
    this.#body.end();
  }

  /** The client is gone, or sends what cannot be read. */
  lose(): void {
    if (!this.closed) this.#over();
  }

  async #pour(status: number, headers: ResponseFields, body: Buffer): Promise<void> {
    // By what nobody has wrapped: the parts of one answer are none of theirs.
    this.#begin(status, { ...headers, "content-length": String(body.length) });
    // The client may keep the answer waiting: a body that nobody has read by now must not be held meanwhile.
    if (!this.#body.hasSink) this.receive(unread);
    for (let at = 0; at < body.length && !this.closed; at += partBytes)
      await this.#write(body.subarray(at, at + partBytes));
    this.#finish();
  }

  // The time of the connection is over, not that of a call.
  #statusOf(status: number): number {
    return this.fault === "DEADLINE_EXCEEDED" ? 408 : status;
  }

  #connection(): string {
    // A client that waits to be told to send its body, and is not, may send it or not: nobody knows what comes next.
    if (this.#host.leaving || (this.#expects && !this.ended)) this.#keeps = false;
    return this.#keeps ? this.#host.keeping : ending;
  }

  #finished(): void {
    this.complete = true;
    this.#over();
    this.#host.answered(this.#keeps);
  }

  #over(): void {
    this.closed = true;
    this.#body.close();
    this.account.close();
    const { onClose } = this;
    this.onClose = undefined;
    onClose?.();
  }
}

/** One piece, for one write. */
function joined(text: string, body: Uint8Array, after = ""): Uint8Array {
  const bytes = Buffer.allocUnsafe(text.length + body.length + after.length);
  bytes.write(text, 0, "latin1");
  bytes.set(body, text.length);
  bytes.write(after, text.length + body.length, "latin1");
  return bytes;
}
