import { expect, test, vi } from "vitest";
import type { Exchange } from "../../../src/http/exchange.ts";
import { dial, echo, serveExchanges, talk } from "./peer.ts";

const get = (target: string, ...more: string[]) => [`GET ${target} HTTP/1.1`, "host: a", ...more, "", ""].join("\r\n");
const post = (body: string, ...more: string[]) =>
  ["POST / HTTP/1.1", "host: a", `content-length: ${body.length}`, ...more, "", body].join("\r\n");
const bodies = (text: string) =>
  [...text.matchAll(/content-length: (\d+)\r\n[\s\S]*?\r\n\r\n/g)].map(({ 0: head, 1: length, index }) =>
    text.slice(index + head.length, index + head.length + Number(length)),
  );

/** A seeded random generator: the same numbers in each run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

const sized = (exchange: Exchange, text: string) =>
  exchange.answer({ status: 200, headers: { "content-length": `${text.length}` }, body: text });

const say = (exchange: Exchange) => sized(exchange, exchange.fault ?? `${exchange.method} ${exchange.target}`);

test("requests in one piece are answered in order, also when the first answer comes last", async () => {
  const waiting: (() => void)[] = [];
  await using server = await serveExchanges((exchange) => {
    if (exchange.target === "/slow") waiting.push(() => say(exchange));
    else say(exchange);
  });
  const received = talk(server, [get("/slow") + get("/a") + get("/b", "connection: close")]);
  await vi.waitFor(() => expect(waiting).toHaveLength(1), 60_000);
  waiting[0]?.();
  expect(bodies(await received)).toEqual(["GET /slow", "GET /a", "GET /b"]);
});

test("a request is understood however its bytes come", async () => {
  await using server = await serveExchanges();
  const text = `${post("hello", "connection: close")}`;
  for (const size of [1, 2, 5, 50]) {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
      text.slice(at * size, (at + 1) * size),
    );
    expect(await talk(server, pieces)).toMatch(/\r\n\r\nPOST \/ hello$/);
  }
});

test("empty lines before a request are overlooked, one of them", async () => {
  await using server = await serveExchanges(say);
  expect(bodies(await talk(server, [`\r\n${get("/a", "connection: close")}`]))).toEqual(["GET /a"]);
});

test("what cannot be read is refused after what could, and the connection ends", async () => {
  await using server = await serveExchanges(say);
  const text = await talk(server, [`${get("/a")}GET /b HTTP/1.1\r\nhost : b\r\n\r\n${get("/c")}`]);
  expect(bodies(text)).toEqual(["GET /a", "MALFORMED_REQUEST"]);
  expect(text).toMatch(/connection: close/);
});

test("a head without an end is refused when it is too large", async () => {
  await using server = await serveExchanges(say);
  expect(bodies(await talk(server, [`GET / HTTP/1.1\r\nx: ${"a".repeat(5000)}`]))).toEqual(["HEADERS_TOO_LARGE"]);
});

const upgrade = "Upgrade: h2c\r\nConnection: upgrade";

test.each([
  ["chunks that are none", "chunked", "5\r\nhello\r\nnonsense\r\n"],
  ["chunks that the parser overlooks", `chunked\t\r\n${upgrade}`, "5\r\nhello\r\n0\r\n\r\n"],
])("%s refuse their request, and never end it", async (_, coding, body) => {
  const ended: string[] = [];
  await using server = await serveExchanges((exchange) => {
    if (exchange.fault) return say(exchange);
    exchange.onClose = () => ended.push(exchange.complete ? "answered" : "lost");
    exchange.receive({ overloaded() {}, data: () => {}, end: () => ended.push("complete") });
  });
  const text = `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: ${coding}\r\n\r\n${body}`;
  expect(bodies(await talk(server, [text]))).toEqual(["MALFORMED_REQUEST"]);
  expect(ended).toEqual(["lost"]);
});

const chunks = (count: number, size: number) => `${size.toString(16)}\r\n${"a".repeat(size)}\r\n`.repeat(count);
const chunked = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";

test("a body in thousands of chunks of one byte is refused, one in as many of sixteen is a body", async () => {
  await using server = await serveExchanges((exchange) => {
    if (exchange.fault) return say(exchange);
    let size = 0;
    exchange.receive({
      overloaded() {},
      data: (part) => {
        size += part.length;
      },
      end: () => sized(exchange, `${size}`),
    });
  });
  expect(bodies(await talk(server, [`${chunked}${chunks(20_000, 1)}0\r\n\r\n`]))).toEqual(["MALFORMED_REQUEST"]);
  expect(bodies(await talk(server, [`${chunked}${chunks(20_000, 16)}0\r\n\r\n`]))).toEqual(["320000"]);
  expect(bodies(await talk(server, [`${chunked}${chunks(4000, 1)}0\r\n\r\n`]))).toEqual(["4000"]);
});

test("a request behind chunks of many empty lines is not served out of its turn", async () => {
  let running = 0;
  await using server = await serveExchanges((exchange) => {
    running += 1;
    expect(running).toBe(1);
    exchange.receive({
      overloaded() {},
      data() {},
      end: () => {
        setImmediate(() => {
          running -= 1;
          say(exchange);
        });
      },
    });
  });
  const blanks = "\r\n\r\n".repeat(4000);
  const body = `${blanks.length.toString(16)}\r\n${blanks}\r\n0\r\n\r\n`;
  const open = chunked.replace("connection: close\r\n", "");
  const behind = get("/a").repeat(50) + get("/a", "connection: close");
  // Some of them may be left to be asked again.
  const text = await talk(server, [open + body + behind]);
  expect(bodies(text)[0]).toBe("POST /");
});

test("an answer before the end of its request lets the rest go by, and the next request is served", async () => {
  await using server = await serveExchanges(say);
  const text = await talk(
    server,
    ["POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\n\r\nhel", `lo!${get("/b")}`],
    /\/b/,
  );
  expect(bodies(text)).toEqual(["POST /a", "GET /b"]);
});

test("a client that waits to be told to go on is told so once its body is asked for, or is let go", async () => {
  await using server = await serveExchanges((exchange) => (exchange.target === "/no" ? say(exchange) : echo(exchange)));
  const head = (target: string) =>
    `POST ${target} HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n`;
  expect(await talk(server, [head("/"), "hi"], /hi$/)).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
  const refused = await talk(server, [head("/no")]);
  expect(refused).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*connection: close/);
});

test("an answer in parts is chunked, for HTTP/1.0 it goes on to the end of the connection", async () => {
  await using server = await serveExchanges(async (exchange) => {
    exchange.begin(200, { "x-many": ["a", "b"] });
    for (const part of ["one", "", "two"]) await exchange.write(Buffer.from(part));
    exchange.finish();
  });
  const text = await talk(server, [get("/", "connection: close")]);
  expect(text).toMatch(/x-many: a\r\nx-many: b\r\n/);
  expect(text).toMatch(/transfer-encoding: chunked\r\n[\s\S]*\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n$/);
  const old = await talk(server, ["GET / HTTP/1.0\r\nhost: a\r\n\r\n"]);
  expect(old).toMatch(/connection: close\r\n\r\nonetwo$/);
  expect(old).not.toMatch(/transfer-encoding/);
});

test("answers without a body say no more of one than they may", async () => {
  await using server = await serveExchanges((exchange) => {
    if (exchange.target === "/304") {
      exchange.begin(304, {});
      exchange.finish();
    } else exchange.answer({ status: Number(exchange.target.slice(1)), headers: {} });
  });
  const all = [get("/200"), get("/204"), get("/304"), "HEAD /200 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"];
  const heads = (await talk(server, [all.join("")])).split("\r\n\r\n").slice(0, -1);
  expect(heads.map((head) => /content-length: \d+|transfer-encoding/.exec(head)?.[0])).toEqual([
    ...["content-length: 0", undefined, undefined, "content-length: 0"],
  ]);
});

test("a header that would begin a line of its own is never sent", async () => {
  await using server = await serveExchanges((exchange) => {
    expect(() => exchange.answer({ status: 200, headers: { x: "a\r\ny: b" } })).toThrow(TypeError);
    exchange.abort();
  });
  expect(await talk(server, [get("/")])).toBe("");
});

test("a client that leaves ends its exchange", async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  await using server = await serveExchanges((exchange) => {
    exchange.onClose = () => resolve(exchange.complete);
  });
  const socket = await dial(server);
  socket.write(get("/"));
  socket.write(post("x").slice(0, 20));
  await new Promise((next) => setImmediate(next));
  socket.destroy();
  expect(await promise).toBe(false);
});

const raise = () => {
  throw new Error("of ours");
};
const nothing = { overloaded() {}, data() {}, end() {} };

test.each([
  ["a handler", raise],
  ["a reader of the body", (exchange: Exchange) => exchange.receive({ ...nothing, data: raise })],
  ["the end of a body", (exchange: Exchange) => exchange.receive({ ...nothing, end: raise })],
])("an error in %s ends its connection only, and is reported", async (_, serve) => {
  const inChunks = "POST /b HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  const served = async () => {
    await using server = await serveExchanges((exchange) =>
      exchange.target === "/a" ? say(exchange) : serve(exchange),
    );
    for (const text of [post("hello"), inChunks, get("/a").repeat(3) + post("hello")])
      expect(bodies(await talk(server, [text]))).not.toContain("POST / hello");
    expect(bodies(await talk(server, [get("/a", "connection: close")]))).toEqual(["GET /a"]);
  };
  await expect(served()).rejects.toThrow("of ours");
});

test("a client that does not read is let go, and one that reads slowly is not", async () => {
  const large = Buffer.alloc(30_000_000, "a");
  const { promise, resolve } = Promise.withResolvers<void>();
  await using server = await serveExchanges(
    async (exchange) => {
      exchange.onClose = resolve;
      exchange.begin(200, {});
      for (let at = 0; at < 3 && !exchange.closed; at++) await exchange.write(large);
    },
    { bodyTimeoutMs: 200 },
  );
  const socket = await dial(server);
  socket.write(get("/"));
  await promise;
  socket.destroy();
});

test("requests that repeat their heads are each understood, however they are cut", async () => {
  await using server = await serveExchanges();
  const random = randomFrom(7);
  const inChunks = (body: string) =>
    `POST /c HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${body.length}\r\n${body}\r\n0\r\nx: y\r\n\r\n`;
  const kinds = [get("/a"), post("hello"), post("\r\n\r\nb"), inChunks("\r\n\r\nc"), inChunks("d"), post("")];
  const answered = ["GET /a ", "POST / hello", "POST / \r\n\r\nb", "POST /c \r\n\r\nc", "POST /c d", "POST / "];
  for (let round = 0; round < 40; round++) {
    const picked = Array.from({ length: 30 }, () => Math.floor(random() ** 2 * kinds.length));
    const text = picked.map((kind) => kinds[kind]).join("") + get("/last", "connection: close");
    const pieces: string[] = [];
    for (let at = 0; at < text.length; at += pieces.at(-1)?.length ?? 0)
      pieces.push(text.slice(at, at + 1 + Math.floor(random() ** 4 * 900)));
    expect(bodies(await talk(server, pieces))).toEqual([...picked.map((kind) => answered[kind]), "GET /last "]);
  }
});

test("a stream whose client takes nothing is given up, whatever its heartbeats add", async () => {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const serve = (exchange: Exchange) => {
    const beating = setInterval(() => void exchange.write(Buffer.from(":")), 20);
    exchange.onClose = () => {
      clearInterval(beating);
      close();
    };
    exchange.begin(200, {});
    // More than the buffers of both ends hold.
    exchange.write(Buffer.alloc(24_000_000));
  };
  await using server = await serveExchanges(serve, { bodyTimeoutMs: 300 });
  const socket = await dial(server);
  socket.pause();
  socket.write(get("/"));
  await closed;
  socket.destroy();
});

test("a stream whose client is far ahead of it, and cannot be seen leaving, is given up", async () => {
  const closed = Promise.withResolvers<void>();
  const serve = (exchange: Exchange) => {
    exchange.onClose = closed.resolve;
    exchange.begin(200, {});
  };
  await using server = await serveExchanges(serve, { bodyTimeoutMs: 300 });
  const socket = await dial(server);
  socket.write(get("/") + "a".repeat(200_000));
  await closed.promise;
  socket.destroy();
});

test("bytes without any sense end nothing but their connection", async () => {
  await using server = await serveExchanges(say);
  const random = randomFrom(42);
  const sound = [get("/a"), post("hello"), "0\r\n\r\n", "transfer-encoding: chunked\r\n", "\r\n", "\n", "\0", " ", ":"];
  for (let round = 0; round < 300; round++) {
    const pieces = Array.from({ length: 1 + Math.floor(random() * 6) }, () => {
      const text = sound[Math.floor(random() * sound.length)] ?? "";
      const at = Math.floor(random() * text.length);
      return random() < 0.5
        ? text
        : text.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + text.slice(at + 1);
    });
    const socket = await dial(server);
    for (const piece of pieces) socket.write(Buffer.from(piece, "latin1"));
    socket.end();
    socket.resume();
    await new Promise((resolve) => socket.on("close", resolve));
  }
  expect(bodies(await talk(server, [get("/alive", "connection: close")]))).toEqual(["GET /alive"]);
});
