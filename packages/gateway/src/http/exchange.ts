import type { Duplex } from "node:stream";
import type { BodyAccount, Network } from "./body_budget.ts";

/** What is wrong with a request before anything of it is looked at. */
export type Flaw = "MALFORMED_REQUEST" | "HEADERS_TOO_LARGE" | "DEADLINE_EXCEEDED";

/** Takes a body as it comes. */
export type Sink = {
  readonly data: (part: Buffer) => void;
  readonly end: () => void;
  /** The process had no room for what came before anybody took it; nothing more comes. */
  readonly overloaded: () => void;
};

/** Takes a body that nobody wants. */
export const unread: Sink = { data() {}, end() {}, overloaded() {} };

/** The headers of a request by their lower-case names; those that came more than once are joined. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** The headers of an answer; one with several values is sent several times. */
export type Sent = Readonly<Record<string, string | readonly string[]>>;

/** An answer that is sent whole. */
export type Whole = {
  readonly status: number;
  readonly headers: Sent;
  readonly body?: Uint8Array | string | undefined;
  /** Only HTTP/2 carries them. */
  readonly trailers?: Sent | undefined;
};

/** One request with the way for its answer, over either version of HTTP. */
export type Exchange = {
  readonly version: "1.1" | "2";
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  /** Host and port that the client believes to talk to. */
  readonly authority: string | undefined;
  readonly headers: Headers;
  /** When there is one, the rest is not to be relied on. */
  readonly flaw: Flaw | undefined;
  /** Whether the request has come to its end. */
  readonly ended: boolean;
  readonly closed: boolean;
  /** Whether all of the answer was sent. */
  readonly complete: boolean;
  /** Called once, when the answer is complete, or nobody waits for it any more. */
  onClose: (() => void) | undefined;
  /** Counts what is held of the body. */
  readonly account: BodyAccount;
  /** Gives the body to a sink, as it comes; nothing more is given once the exchange is closed. */
  readonly receive: (sink: Sink) => void;
  /** The body in its parts, each let in as the one before is asked past; an error when it does not come to its end. */
  readonly chunks: () => AsyncGenerator<Buffer>;
  /** Answers at once and whole. */
  readonly answer: (whole: Whole) => void;
  /** Begins an answer whose body comes in parts. */
  readonly begin: (status: number, headers: Sent) => void;
  /** Sends a part of the body; a promise when the next one should wait until this one is out, or the exchange is closed. */
  readonly write: (part: Uint8Array) => Promise<void> | undefined;
  /** Ends the body. */
  readonly finish: (trailers?: Sent) => void;
  /** Ends the exchange without the rest of its answer. */
  readonly giveUp: () => void;
};

/** How long a connection waits for its client. */
export type Timeouts = {
  readonly headerTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly idleTimeoutMs: number;
};

/** What a connection of either version of HTTP is made of. */
export type ConnectionParts<Limits> = {
  readonly socket: Duplex;
  readonly limits: Limits;
  /** Where the client is, for what is held of its requests. */
  readonly network: Network;
  readonly serve: (exchange: Exchange) => void;
  /** Called with an error of ours, which ends the connection and nothing else. */
  readonly onFault: (error: unknown) => void;
};
