import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { CreateAccessTokenRequestSchema, UserService } from "../../gen/postern/v1/user_pb.ts";

/** The address for each version of HTTP. */
export type Entrance = { readonly http: string; readonly grpc: string };

/** The number of writers, a third of each kind, how long each rests after a write, and the users to write for in turn, a thousand tokens each at most. */
export type RollingOptions = WriterOptions & {
  readonly writers: number;
  readonly restMs: number;
  readonly userIds: readonly string[];
};

/** Makes an access token for a user under a key; returns its id. */
type Write = (userId: string, key: string) => Promise<string>;
type Writer = { readonly write: Write; readonly close: () => void };
type WriterOptions = Entrance & { readonly token: string };

/** Writers at work; a failed call is counted, and repeated with its key until it is acknowledged. */
export type RollingLoad = {
  readonly acknowledged: readonly string[];
  /** The number of calls, and the failures of those that were not retried by a policy. */
  readonly bare: { calls: number; readonly failures: string[] };
  /** The same of the clients with the policy of `docs/grpc-retry.json`. */
  readonly withPolicy: { calls: number; readonly failures: string[] };
  /** Waits for so many more acknowledgements. */
  readonly more: (count: number) => Promise<void>;
  /** Ends when each writer has had its last write acknowledged. */
  readonly stop: () => Promise<void>;
};

const policy = readFileSync(new URL("../../docs/grpc-retry.json", import.meta.url), "utf8");

/** Starts writers that go on until they are stopped. */
export function startRollingLoad({ writers, restMs, userIds, ...options }: RollingOptions): RollingLoad {
  const acknowledged: string[] = [];
  const [bare, withPolicy] = [tally(), tally()];
  const kinds = [
    { make: restWriter, counted: bare },
    { make: grpcWriter, counted: bare },
    { make: retryingWriter, counted: withPolicy },
  ];
  let isStopped = false;
  const work = async (index: number) => {
    const { make, counted } = kinds[index % kinds.length] ?? kinds[0] ?? expectKind();
    const { write, close } = make(options);
    for (let nth = index; !isStopped; nth += writers) {
      const userId = userIds[nth % userIds.length] ?? "";
      acknowledged.push(await repeated(() => write(userId, `${userId}-${nth}`), counted));
      if (restMs > 0) await pause(restMs);
    }
    close();
  };
  const all = Promise.all(Array.from({ length: writers }, (_, index) => work(index)));
  // A failure is thrown by `stop`, or to the caller that waits for more.
  all.catch(() => {});
  return {
    ...{ acknowledged, bare, withPolicy },
    async more(count) {
      const enough = acknowledged.length + count;
      while (acknowledged.length < enough) await Promise.race([pause(20), all]);
    },
    async stop() {
      isStopped = true;
      await all;
    },
  };
}

const tally = () => ({ calls: 0, failures: [] as string[] });

function expectKind(): never {
  throw new Error("there is a kind for each writer");
}

async function repeated(write: () => Promise<string>, counted: ReturnType<typeof tally>): Promise<string> {
  for (const end = Date.now() + 240_000; ; await pause(50)) {
    counted.calls++;
    try {
      return await write();
    } catch (error) {
      if (Date.now() > end) throw error;
      counted.failures.push(String(error));
    }
  }
}

/** REST over HTTP/1.1, on a connection that is kept. */
function restWriter({ http, token }: WriterOptions): Writer {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const write: Write = async (userId, key) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const sent = request(
      `${http}/v1/users/${userId}/tokens`,
      { agent, method: "POST", headers: { ...headers, "idempotency-key": key } },
      async (answer) => {
        let text = "";
        try {
          for await (const chunk of answer) text += chunk;
          if (answer.statusCode !== 200) throw new Error(`HTTP/1.1: ${answer.statusCode} ${text}`);
          resolve(JSON.parse(text).tokenId);
        } catch (error) {
          reject(error);
        }
      },
    );
    sent.on("error", reject);
    sent.end("{}");
    return promise;
  };
  return { write, close: () => agent.destroy() };
}

/** gRPC without a policy: grpc-js itself repeats only calls that no server has seen. */
const grpcWriter = (options: WriterOptions) => grpc(options, {});

const retryingWriter = (options: WriterOptions) => grpc(options, { "grpc.service_config": policy });

function grpc({ grpc: url, token }: WriterOptions, more: Record<string, string>): Writer {
  const options = { "grpc.use_local_subchannel_pool": 1, "grpc.initial_reconnect_backoff_ms": 50, ...more };
  const client = new Client(new URL(url).host, credentials.createInsecure(), options);
  const { name, parent, input, output } = UserService.method.createAccessToken;
  const write: Write = (userId, key) => {
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${token}`);
    metadata.set("idempotency-key", key);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    client.makeUnaryRequest(
      `/${parent.typeName}/${name}`,
      (message) => Buffer.from(toBinary(input, message)),
      (bytes) => fromBinary(output, bytes),
      create(CreateAccessTokenRequestSchema, { userId }),
      metadata,
      { deadline: Date.now() + 60_000 },
      (error, answer) => (answer ? resolve(answer.tokenId) : reject(error ?? new Error("neither answer nor error"))),
    );
    return promise;
  };
  return { write, close: () => client.close() };
}
