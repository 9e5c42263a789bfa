import { fromBinary, type Message } from "@bufbuild/protobuf";
import { refuse } from "../../errors.ts";
import type { Located } from "../exchange.ts";
import { decodeJson, type Rules, readJsonObject, twice } from "../json.ts";
import { decompressed, type Encoding, encodingNames, encodingOf } from "../lane/compression.ts";
import type { Operation } from "../operations.ts";
import { fieldsOf, type Spoken } from "./spoken.ts";

/** A request of a known operation, not read yet. */
export type Unread = {
  readonly asked: Located;
  readonly spoken: Spoken;
  readonly operation: Operation;
  readonly rules: Rules;
  readonly deadlineMaxMs: number;
};

/** Reads the one message of a request, after a look at what its headers say; refuses in our words what is wrong with it. */
export async function decodeRequest(unread: Unread): Promise<Message> {
  const { asked, spoken, operation } = unread;
  const protocol = spoken.protocol;
  if (!protocol || (streams(spoken) === false && operation.kind === "stream"))
    throw refuse.because("UNSUPPORTED_CONTENT_TYPE");
  if (spoken.family === "connect stream" && operation.kind === "unary")
    throw refuse.because("UNSUPPORTED_CONTENT_TYPE");
  hurry(unread, protocol.timeout(fieldsOf(asked)));
  const { message, encoding } = spoken.inQuery ? queried(asked) : await enclosed(asked, protocol);
  const bytes = encoding ? await decompressed(encoding, message, asked.messageMaxBytes) : message;
  if (bytes.length > asked.messageMaxBytes) throw refuse.because("BODY_TOO_LARGE");
  return spoken.json ? fromJsonBytes(unread, bytes) : fromBytes(unread, bytes);
}

const streams = ({ family }: Spoken) => family !== "connect unary";

const longestTimer = 2 ** 31 - 1;

// A stream lives on for as long as its reader wants; a unary call always ends.
function hurry({ asked, operation, deadlineMaxMs }: Unread, timeoutMs: number | undefined): void {
  if (operation.kind === "unary") asked.expire(Math.min(timeoutMs ?? deadlineMaxMs, deadlineMaxMs));
  else if (timeoutMs !== undefined) asked.expire(Math.min(timeoutMs, longestTimer));
}

type Enclosed = { readonly message: Uint8Array; readonly encoding: Encoding | undefined };

async function enclosed(asked: Located, protocol: NonNullable<Spoken["protocol"]>): Promise<Enclosed> {
  const encoding = readable(asked.headers.get(protocol.encodingHeader), protocol.acceptHeader);
  const most = asked.messageMaxBytes;
  const body = Buffer.from(await asked.body(most + protocol.around(most)));
  const { message, compressed } = protocol.open(body, encoding);
  if (compressed && !encoding) throw refuse.because("MALFORMED_BODY");
  return { message, encoding: compressed ? encoding : undefined };
}

function queried({ query, headers }: Located): Enclosed {
  const given = new URLSearchParams(query);
  const text = given.get("message") ?? "";
  if (!["v1", null].includes(given.get("connect"))) throw refuse.because("MALFORMED_REQUEST");
  const encoding = readable(given.get("compression"), "accept-encoding");
  if (given.get("base64") !== "1") return { message: Buffer.from(text), encoding };
  if (!/^[\w+/-]*={0,2}$/.test(text) || headers.get("content-length")) throw refuse.because("MALFORMED_BODY");
  return { message: Buffer.from(text, "base64url"), encoding };
}

function readable(name: string | null, acceptHeader: string): Encoding | undefined {
  try {
    return encodingOf(name ?? undefined);
  } catch (error) {
    const refusal = refuse.because("UNSUPPORTED_ENCODING", { cause: error });
    refusal.metadata.set(acceptHeader, encodingNames);
    throw refusal;
  }
}

function fromBytes({ operation }: Unread, bytes: Uint8Array): Message {
  try {
    return fromBinary(operation.method.input, bytes);
  } catch (cause) {
    throw refuse.because("MALFORMED_BODY", { cause });
  }
}

function fromJsonBytes({ operation, rules }: Unread, bytes: Uint8Array): Message {
  const { value, repeated } = readJsonObject(bytes);
  return decodeJson(operation.method.input, { value, violations: twice(repeated) }, rules);
}
