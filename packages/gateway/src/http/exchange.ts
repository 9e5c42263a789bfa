import type { Duplex } from "node:stream";
import type { BodyAccount, Network } from "./body_budget.ts";

/** The reason why a request is unreadable. */
export type RequestFault = "MALFORMED_REQUEST" | "HEADERS_TOO_LARGE" | "DEADLINE_EXCEEDED";

/** Receives the body of a request as it arrives. */
export type BodySink = {
  readonly data: (part: Buffer) => void;
  readonly end: () => void;
  /** The body that arrived before it had a sink exceeded the budget, and was dropped; nothing more follows. */
  readonly overloaded: () => void;
};

/** Drops an unread body. */
export const unread: BodySink = { data() {}, end() {}, overloaded() {} };

/** The headers of a request by lower-case name; repeated headers are joined. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** The headers or trailers of a response; one with several values is sent several times. */
export type ResponseFields = Readonly<Record<string, string | readonly string[]>>;

/** A response sent in one piece. */
export type Response = {
  readonly status: number;
  readonly headers: ResponseFields;
  readonly body?: Uint8Array | string | undefined;
  /** Only HTTP/2 sends them. */
  readonly trailers?: ResponseFields | undefined;
};

/** A request and its response, over either HTTP version. */
export type Exchange = {
  readonly version: "1.1" | "2";
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** The client's network, for limits by address; undefined if a trusted proxy names no client. */
  readonly network: string | undefined;
  /** The client's address; undefined if a trusted proxy names no client. */
  readonly address: string | undefined;
  /** The host and port that the client addresses. */
  readonly authority: string | undefined;
  readonly headers: Headers;
  /** Set if the request is unreadable; its other properties may then be incomplete. */
  readonly fault: RequestFault | undefined;
  /** The invalid header, if that is the fault. */
  readonly faultyHeader?: string | undefined;
  /** Whether the request is complete. */
  readonly ended: boolean;
  readonly closed: boolean;
  /** Whether the whole response was sent. */
  readonly complete: boolean;
  /** Called once, when the response is complete or the client has disconnected. */
  onClose: (() => void) | undefined;
  /** Counts the bytes of the body being held. */
  readonly account: BodyAccount;
  /** Passes the body to a sink as it arrives; nothing more is passed once the exchange is closed. */
  readonly receive: (sink: BodySink) => void;
  /** The body in parts; the next part is let in when it is requested. Throws if the body is cut short. */
  readonly chunks: () => AsyncGenerator<Buffer>;
  /** Sends a complete response. */
  readonly answer: (response: Response) => void;
  /** Begins a response whose body follows in parts. */
  readonly begin: (status: number, headers: ResponseFields) => void;
  /** Sends a part of the body. If the client is slow, returns a promise that settles when the next part may be sent. */
  readonly write: (part: Uint8Array) => Promise<void> | undefined;
  /** Ends the body. */
  readonly finish: (trailers?: ResponseFields) => void;
  /** Ends the exchange without the rest of its response. */
  readonly abort: () => void;
};

/** How long a connection waits for its client. */
export type Timeouts = {
  readonly headerTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly idleTimeoutMs: number;
};

/** Options of a connection of either HTTP version. */
export type ConnectionOptions<Limits> = {
  readonly socket: Duplex;
  readonly limits: Limits;
  /** Finds the client of a request by its headers; the bytes held for the request count towards its share. */
  readonly clientOf: (headers: Headers) => Network;
  readonly serve: (exchange: Exchange) => void;
  /** Called with an internal error, which only ends the connection. */
  readonly onFault: (error: unknown) => void;
};
