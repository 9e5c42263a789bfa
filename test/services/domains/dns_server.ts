import { createSocket } from "node:dgram";
import { once } from "node:events";

/** What the server says of the TXT records of a name; `silent` sends nothing, `truncated` says that there is more over TCP. */
export type Said =
  | { readonly texts: readonly string[] }
  | "absent"
  | "empty"
  | "failed"
  | "refused"
  | "silent"
  | "truncated";

/** A name server on the loopback interface. */
export type DnsServer = AsyncDisposable & {
  /** Its address, as the setting has it. */
  readonly address: string;
  /** What it says of each name; of others that they do not exist. */
  readonly zone: Map<string, Said>;
  /** The names that it was asked for, in order. */
  readonly asked: string[];
};

const codes = { absent: 3, failed: 2, refused: 5, empty: 0, truncated: 0 } as const;

/** Starts a name server that answers by UDP (RFC 1035). */
export async function openDnsServer(): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const zone = new Map<string, Said>();
  const asked: string[] = [];
  socket.on("message", (query, { address, port }) => {
    const question = questionIn(query);
    asked.push(question.name);
    const said = zone.get(question.name) ?? "absent";
    if (said !== "silent") socket.send(answerTo(query, question, said), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    ...{ address: `127.0.0.1:${socket.address().port}`, zone, asked },
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, "close");
    },
  };
}

type Question = { readonly name: string; readonly end: number };

/** The name of a query, and where its only question ends. */
function questionIn(query: Buffer): Question {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 5 };
}

function answerTo(query: Buffer, { end }: Question, said: Exclude<Said, "silent">): Buffer {
  const texts = typeof said === "object" ? said.texts : [];
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  const flags = 0x8180 | (typeof said === "object" ? 0 : codes[said]) | (said === "truncated" ? 0x0200 : 0);
  header.writeUInt16BE(flags, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(texts.length, 6);
  return Buffer.concat([header, query.subarray(12, end), ...texts.map(txtRecord)]);
}

/** A TXT record with the name of the question; a text is cut into strings of at most 255 bytes. */
function txtRecord(text: string): Buffer {
  const bytes = Buffer.from(text);
  const strings: Buffer[] = [];
  for (let at = 0; at < bytes.length || at === 0; at += 255) {
    const part = bytes.subarray(at, at + 255);
    strings.push(Buffer.from([part.length]), part);
  }
  const data = Buffer.concat(strings);
  const head = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, data.length >> 8, data.length & 255]);
  return Buffer.concat([head, data]);
}
