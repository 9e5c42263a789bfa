import type { Duplex } from "node:stream";
import type { BodyAccount, Network } from "./body_budget.ts";

/** Why a request cannot be read. */
export type RequestFault = "MALFORMED_REQUEST" | "HEADERS_TOO_LARGE" | "DEADLINE_EXCEEDED";

/** Receives the body of a request as it arrives. */
export type BodySink = {
  readonly data: (part: Buffer) => void;
  readonly end: () => void;
  /** The body that arrived before anybody received it exceeded the budget, and was dropped; nothing more follows. */
  readonly overloaded: () => void;
};

/** Drops an unread body. */
export const unread: BodySink = { data() {}, end() {}, overloaded() {} };

/** The headers of a request by their lower-case names; repeated headers are joined. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** The headers or trailers of a response; one with several values is sent several times. */
export type ResponseFields = Readonly<Record<string, string | readonly string[]>>;

/** A response that is sent in one piece. */
export type Response = {
  readonly status: number;
  readonly headers: ResponseFields;
  readonly body?: Uint8Array | string | undefined;
  /** Only HTTP/2 carries them. */
  readonly trailers?: ResponseFields | undefined;
};

/** One request and its response, over either version of HTTP. */
export type Exchange = {
  readonly version: "1.1" | "2";
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  /** The network of the client, for limits by address; undefined where a proxy that is trusted names no client. */
  readonly network: string | undefined;
  /** The host and port that the client addresses. */
  readonly authority: string | undefined;
  readonly headers: Headers;
  /** Set when the request cannot be read; its other properties may then be incomplete. */
  readonly fault: RequestFault | undefined;
  /** The header at fault, where it is one. */
  readonly faultyHeader?: string | undefined;
  /** Whether the request is complete. */
  readonly ended: boolean;
  readonly closed: boolean;
  /** Whether the whole response was sent. */
  readonly complete: boolean;
  /** Called once, when the response is complete or the client is gone. */
  onClose: (() => void) | undefined;
  /** Counts the bytes of the body that are held. */
  readonly account: BodyAccount;
  /** Passes the body to a sink as it arrives; nothing more is passed once the exchange is closed. */
  readonly receive: (sink: BodySink) => void;
  /** The body in parts; the next part is let in when it is requested. Throws when the body is cut short. */
  readonly chunks: () => AsyncGenerator<Buffer>;
  /** Sends a response that is complete. */
  readonly answer: (response: Response) => void;
  /** Begins a response whose body comes in parts. */
  readonly begin: (status: number, headers: ResponseFields) => void;
  /** Sends a part of the body; returns a promise while the client is slow, which settles when the next part may be sent. */
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

/** Options of a connection of either version of HTTP. */
export type ConnectionOptions<Limits> = {
  readonly socket: Duplex;
  readonly limits: Limits;
  /** Finds the client of a request by its headers; the bytes held of the request count to its share. */
  readonly clientOf: (headers: Headers) => Network;
  readonly serve: (exchange: Exchange) => void;
  /** Called with an error of ours, which ends the connection and nothing else. */
  readonly onFault: (error: unknown) => void;
};
