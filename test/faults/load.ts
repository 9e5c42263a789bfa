import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { CreateAccessTokenRequestSchema, UserService } from "../../gen/postern/v1/user_pb.ts";

/** A write that is repeated under its key until it is acknowledged: makes an access token for a user, answers its id. */
type Write = (userId: string, key: string) => Promise<string>;

/** A failure of a connection or a node, after which a client tries again. */
class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** The users to write for in turn, a thousand tokens each at most, and the number of writers, every second one over gRPC. */
export type LoadOptions = WriterOptions & {
  readonly userIds: readonly string[];
  readonly writers?: number;
  /** How long a writer rests after each write. */
  readonly restMs?: number;
};

/** Writers at work. */
export type Load = {
  /** The tokens that were acknowledged so far. */
  readonly acknowledged: readonly string[];
  /** The faults that clients have seen so far. */
  readonly failures: readonly string[];
  /** Waits for so many more acknowledgements. */
  readonly more: (count: number) => Promise<void>;
  /** Ends when each writer has had its last write acknowledged. */
  readonly stop: () => Promise<void>;
};

/** Starts writers that go on until they are stopped. */
export function startLoad({ url, token, userIds, writers = userIds.length, restMs = 0 }: LoadOptions): Load {
  const [acknowledged, failures]: [string[], string[]] = [[], []];
  let isStopped = false;
  const closing: (() => void)[] = [];
  const work = async (index: number) => {
    const { write, close } = (index % 2 === 0 ? restWriter : grpcWriter)({ url, token });
    closing.push(close);
    for (let nth = index; !isStopped; nth += writers) {
      const userId = userIds[nth % userIds.length] ?? "";
      acknowledged.push(await repeated(() => write(userId, `${userId}-${nth}`), failures));
      if (restMs > 0) await pause(restMs);
    }
  };
  // A failure of another kind is thrown by `stop`, or by who waits for more.
  const all = Promise.all(Array.from({ length: writers }, (_, index) => work(index)));
  all.catch(() => {});
  return {
    acknowledged,
    failures,
    async more(count) {
      const enough = acknowledged.length + count;
      while (acknowledged.length < enough) await Promise.race([pause(20), all]);
    },
    async stop() {
      isStopped = true;
      await all.finally(() => closing.forEach((close) => void close()));
    },
  };
}

async function repeated(write: () => Promise<string>, failures: string[]): Promise<string> {
  for (const end = Date.now() + 240_000; ; await pause(50)) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof Unavailable) || Date.now() > end) throw error;
      failures.push(error.message);
    }
  }
}

type WriterOptions = { readonly url: string; readonly token: string };
type Writer = { readonly write: Write; readonly close: () => void };

/** REST over HTTP/1.1, on a connection that is kept. */
function restWriter({ url, token }: WriterOptions): Writer {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const write: Write = (userId, key) =>
    new Promise((resolve, reject) => {
      const asked = request(
        `${url}/v1/users/${userId}/tokens`,
        { agent, method: "POST", headers: { ...headers, "idempotency-key": key } },
        async (answer) => {
          let text = "";
          try {
            for await (const chunk of answer) text += chunk;
          } catch (error) {
            return reject(new Unavailable(`HTTP/1.1: ${error}`));
          }
          if (answer.statusCode === 200) resolve(JSON.parse(text).tokenId);
          else reject(answer.statusCode === 503 ? new Unavailable(`HTTP/1.1: ${text}`) : new Error(text));
        },
      );
      asked.on("error", (error) => reject(new Unavailable(`HTTP/1.1: ${error}`)));
      asked.setTimeout(60_000, () => asked.destroy(new Error("no answer in 60 s")));
      asked.end("{}");
    });
  return { write, close: () => agent.destroy() };
}

/** gRPC by grpc-js, on a connection of its own, without a retry policy. */
function grpcWriter({ url, token }: WriterOptions): Writer {
  const options = {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.max_reconnect_backoff_ms": 200,
    "grpc.initial_reconnect_backoff_ms": 50,
  };
  const client = new Client(new URL(url).host, credentials.createInsecure(), options);
  const { name, parent, input, output } = UserService.method.createAccessToken;
  const write: Write = (userId, key) =>
    new Promise((resolve, reject) => {
      const metadata = new Metadata();
      metadata.set("authorization", `Bearer ${token}`);
      metadata.set("idempotency-key", key);
      client.makeUnaryRequest(
        `/${parent.typeName}/${name}`,
        (message) => Buffer.from(toBinary(input, message)),
        (bytes) => fromBinary(output, bytes),
        create(CreateAccessTokenRequestSchema, { userId }),
        metadata,
        { deadline: Date.now() + 60_000 },
        (error, answer) => {
          if (answer) resolve(answer.tokenId);
          else if (error?.code === status.UNAVAILABLE) reject(new Unavailable(`gRPC: ${error.message}`));
          else reject(error ?? new Error("neither an answer nor an error"));
        },
      );
    });
  return { write, close: () => client.close() };
}
