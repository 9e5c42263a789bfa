import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { access } from "../../../../gen/postern/v1/options_pb.ts";
import { services } from "../../../../src/runtime/modules.ts";

/** A call that went through: `path` has the name of the method, as in `UserService/GetUser`. */
export type Seen = {
  readonly method: string;
  readonly token: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly status: number;
  readonly answer: string;
};

/** What happens to a request instead: it is lost, its answer is, or something else answers. */
export type Interference =
  | "lose the request"
  | "lose the answer"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | { readonly rewrite: (body: string) => string }
  | undefined;

/** A proxy between the browser and a node, which sees every call of the console. */
export type SeeingProxy = AsyncDisposable & {
  readonly url: string;
  toward: string;
  /** Decides about each request; undefined lets it pass. */
  between: (request: {
    readonly path: string;
    readonly query: string;
    readonly body: string;
  }) => Interference | Promise<Interference>;
  readonly seen: Seen[];
  /** What no call of the console may be. */
  readonly faults: string[];
  /** The streams that are open now. */
  readonly streams: Set<ServerResponse>;
  /** The calls of a method so far. */
  readonly callsOf: (method: string) => readonly Seen[];
};

const methods = new Map(
  services.flatMap(({ methods }) => methods).map((one) => [`${one.parent.name}/${one.name}`, one]),
);

export const methodOf = (name: string): DescMethod => {
  const method = methods.get(name);
  if (!method) throw new Error(`there is no ${name}`);
  return method;
};

export const isWrite = ({ idempotency }: DescMethod): boolean =>
  idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;

export const accessOf = (method: DescMethod) => getOption(method, access);

export async function startProxy(): Promise<SeeingProxy> {
  const server = createServer((incoming, outgoing) => {
    handle(proxy, incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.keepAliveTimeout = 60_000;
  await once(server.listen(0), "listening");
  const { port } = server.address() as AddressInfo;
  const seen: Seen[] = [];
  const proxy: SeeingProxy = {
    url: `http://localhost:${port}`,
    toward: "",
    between: () => undefined,
    seen,
    faults: [],
    streams: new Set(),
    callsOf: (method) => seen.filter((one) => one.method === method),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return proxy;
}

async function handle(proxy: SeeingProxy, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(incoming.url ?? "/", proxy.url);
  const chunks = await incoming.toArray();
  const body = Buffer.concat(chunks);
  const method = /^\/postern\.v1\.(\w+\/\w+)$/.exec(pathname)?.[1];
  if (/(?<![\w-])(cn|pt|st)_[0-9A-Za-z]{27}/.test(incoming.url ?? "")) proxy.faults.push(`a token in ${pathname}`);
  if (method) check(proxy, { method, headers: incoming.headers, body: body.toString() });
  const wanted = await proxy.between({ path: pathname, query: search, body: body.toString() });
  if (wanted === "lose the request") return void outgoing.destroy();
  if (typeof wanted === "object" && "status" in wanted) {
    outgoing.writeHead(wanted.status, { "content-type": "text/plain", ...wanted.headers }).end(wanted.body ?? "");
    return;
  }
  await pass(proxy, { incoming, outgoing, body, method, wanted });
}

type Passing = {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly body: Buffer;
  readonly method: string | undefined;
  readonly wanted: "lose the answer" | { readonly rewrite: (body: string) => string } | undefined;
};

async function pass(proxy: SeeingProxy, { incoming, outgoing, body, method, wanted }: Passing): Promise<void> {
  const isRewritten = typeof wanted === "object";
  const isReadHere = isRewritten || method !== undefined;
  const headers = { ...incoming.headers, ...(isReadHere ? { "accept-encoding": "identity" } : {}) };
  const onward = request(proxy.toward + incoming.url, { method: incoming.method, headers, agent: false });
  outgoing.on("close", () => onward.destroy());
  onward.end(body);
  const [answer] = (await once(onward, "response")) as [IncomingMessage];
  const isStream = method?.includes("/Watch") === true;
  if (isStream) {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    outgoing.flushHeaders();
    proxy.streams.add(outgoing);
    outgoing.on("close", () => proxy.streams.delete(outgoing));
    answer.pipe(outgoing);
    return;
  }
  const text = Buffer.concat(await answer.toArray());
  if (method) note(proxy, { method, incoming, body, status: answer.statusCode ?? 0, answer: text.toString() });
  if (wanted === "lose the answer") return void outgoing.destroy();
  const sent = isRewritten ? Buffer.from(wanted.rewrite(text.toString())) : text;
  const { "content-length": _, "transfer-encoding": __, etag: ___, ...others } = answer.headers;
  const status = answer.statusCode ?? 502;
  outgoing.writeHead(status, others).end(status === 304 || incoming.method === "HEAD" ? undefined : sent);
}

type Noted = {
  readonly method: string;
  readonly incoming: IncomingMessage;
  readonly body: Buffer;
  readonly status: number;
  readonly answer: string;
};

function note({ seen }: SeeingProxy, { method, incoming: { headers }, body, status, answer }: Noted): void {
  const token = (headers.authorization ?? "").replace("Bearer ", "");
  seen.push({ method, token, headers, body: body.toString(), status, answer });
}

/** Every write carries a key, and the version that it is about if its request has one. */
function check({ faults }: SeeingProxy, { method, headers, body }: Pick<Seen, "method" | "headers" | "body">): void {
  const described = methodOf(method);
  if (!isWrite(described)) return;
  if (!headers["idempotency-key"]) faults.push(`${method} without a key`);
  const isVersioned = described.input.fields.some(({ name }) => name === "expected_sequence");
  const { expectedSequence, validateOnly } = JSON.parse(body) as { expectedSequence?: string; validateOnly?: boolean };
  if (isVersioned && !expectedSequence && !validateOnly) faults.push(`${method} without the version that it is about`);
}
