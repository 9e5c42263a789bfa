import { refuse } from "../../../../src/errors.ts";
import { accepted, decompressed, encodingOf, leastCompressed } from "../codec/compression.ts";
import { type BodyAccount, noRoom } from "../http/body_budget.ts";
import type { Flaw } from "../http/exchange.ts";
import type { HeaderFields } from "./protocols/protocol.ts";

/** A request as the rooms of the transport see it, whatever carried it. */
export type Asked = {
  readonly method: string;
  readonly version: "1.1" | "2";
  /** Host and port that the client believes to talk to. */
  readonly authority: string;
  /** What is wrong with the request before anything of it is looked at. */
  readonly flaw?: Flaw | undefined;
  /** Path and query as they were sent, still encoded. */
  readonly target: string;
  readonly headers: HeaderFields;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** Aborts when the server is about to stop. */
  readonly stopping: AbortSignal;
  /** Ends the call after so long. */
  readonly expire: (milliseconds: number) => void;
  /** Counts what is held of the request. */
  readonly account: BodyAccount;
  /** The largest message, also after decompression. */
  readonly messageMaxBytes: number;
  /** Reads the body whole, or refuses one that is larger than a message, or than so many bytes, or goes on for too long. */
  readonly body: (mostBytes?: number) => Promise<Uint8Array>;
  /** The body as it comes, for calls that stream their requests. */
  readonly chunks: () => AsyncIterable<Uint8Array>;
};

/** A request whose target is taken apart: the path still encoded, the query without its question mark. */
export type Located = Asked & { readonly path: string; readonly query: string };

/** What goes back. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** All of it, or its parts as they come. */
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array>;
  /** What is known only after the body; HTTP/2 only. */
  readonly trailers?: (() => Readonly<Record<string, string>>) | undefined;
};

/** Answers with JSON. */
export function jsonAnswer(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { ...headers, "content-type": "application/json" }, body };
}

/** Takes the target of a request apart, or refuses one that no URL can be made of. */
export function locate(asked: Asked): Located {
  if (asked.flaw) throw refuse.because(asked.flaw);
  const parts = split(asked.target);
  if (!parts || !isAuthority(asked.authority)) throw refuse.because("MALFORMED_REQUEST");
  return { ...asked, ...parts };
}

/** The path and the query of a target; undefined when it has no path. */
export function split(target: string): { readonly path: string; readonly query: string } | undefined {
  const local = target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?#]*/i, "");
  if (!local.startsWith("/")) return undefined;
  const [whole = ""] = local.includes("#") ? local.split("#", 1) : [local];
  const at = whole.indexOf("?");
  return at < 0 ? { path: whole, query: "" } : { path: whole.slice(0, at), query: whole.slice(at + 1) };
}

/** Whether an authority can be one. */
// Checked by its characters first: what follows here, and in libraries, makes URLs of it.
export function isAuthority(authority: string): boolean {
  const known = /^(\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(:\d{1,5})?$/.test(authority);
  return known && URL.canParse(`http://${authority}`);
}

/** The body of a request, whole and decompressed; one of more bytes is refused. */
export async function wholeBody(asked: Asked, encodings: readonly string[], mostBytes: number): Promise<Uint8Array> {
  const encoding = encodingOf(asked.headers.get("content-encoding") ?? undefined, encodings);
  const body = await asked.body(mostBytes);
  if (!encoding) return body;
  // As much as it may become; nobody knows before.
  if (!asked.account.take(mostBytes)) throw noRoom();
  return decompressed(encoding, body, mostBytes);
}

/** The answer, compressed when that is worth it and the client can read it. */
export async function compressed(answer: Answer, { headers }: Pick<Asked, "headers">): Promise<Answer> {
  const { body } = answer;
  if (typeof body !== "string" || body.length < leastCompressed || answer.headers["content-encoding"]) return answer;
  const varied = { ...answer.headers, vary: "accept-encoding" };
  const encoding = accepted(headers.get("accept-encoding") ?? undefined);
  if (!encoding) return { ...answer, headers: varied };
  return { ...answer, headers: { ...varied, "content-encoding": encoding.name }, body: await encoding.compress(body) };
}
