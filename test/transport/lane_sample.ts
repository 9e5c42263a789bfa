import { type AddressInfo, createServer as createTcp, type Server } from "node:net";
import type { DescService } from "@bufbuild/protobuf";
import { openSessions } from "../../packages/gateway/src/http/connections.ts";
import { jsonDoor } from "../../packages/gateway/src/rpc/door.ts";
import { lane } from "../../packages/gateway/src/rpc/lane/lane.ts";
import type { LaneParts } from "../../packages/gateway/src/rpc/lane/visit.ts";
import type { CallLimits } from "../../packages/gateway/src/rpc/rooms.ts";
import { ask, type Read, type SampleOptions, sampleParts } from "./sample_door.ts";

const limits: CallLimits = { messageMaxBytes: 100_000, bodyTimeoutMs: 5000, deadlineMaxMs: 60_000 };
const sessionLimits = { streamsMax: 100, headersMaxBytes: 16_384, headerTimeoutMs: 5000, idleTimeoutMs: 5000 };

/** What a lane in a test is made of, where it differs from the plainest. */
export type LaneOptions = SampleOptions & {
  readonly limits?: Partial<CallLimits>;
  readonly also?: NonNullable<LaneParts["also"]>;
  readonly protocols?: boolean;
};

/** The lane of the sample service over both versions of HTTP; what it does not take is answered with 404. */
export type SampleLane = AsyncDisposable & {
  readonly http1: string;
  readonly http2: string;
  readonly service: DescService;
  /** Lets connections finish what runs. */
  readonly close: () => void;
  /** The same service over plain JSON. */
  readonly rest: (body: unknown, headers?: Record<string, string>) => Promise<Read>;
};

/** The path of the one unary rpc that the lane serves. */
export const path = "/sample.Samples/Do";

/** Opens two ports for the sample service. */
export async function openLane(options: LaneOptions = {}): Promise<SampleLane> {
  const parts = sampleParts(
    [
      { name: "Do", rule: { pattern: { case: "post", value: "/do" }, body: "*" } },
      { name: "Watch", rule: { pattern: { case: "get", value: "/watch" } }, stream: true },
    ],
    options,
  );
  const { also, protocols = true } = options;
  const fast = lane({ ...parts, limits: { ...limits, ...options.limits }, protocols, ...(also && { also }) });
  const sessions = openSessions({
    limits: { ...limits, ...sessionLimits, connectionAgeMs: 0, bodiesMaxBytes: 67_108_864, unknownStreamsMax: 100_000 },
    serve: (exchange) => fast(exchange) || exchange.answer({ status: 404, headers: {} }),
  });
  const one = createTcp((socket) => sessions.accept(socket, "1.1"));
  const two = createTcp((socket) => sessions.accept(socket, "2"));
  const door = jsonDoor(parts);
  const [operation] = parts.operations.values();
  if (!operation) throw new Error("the sample has no operation");
  return {
    http1: await opened(one),
    http2: await opened(two),
    service: operation.method.parent,
    rest: (body, headers) => ask(door, "POST /do", body, headers),
    close: () => sessions.close("all"),
    [Symbol.asyncDispose]: async () => {
      one.close();
      two.close();
      sessions.destroy();
    },
  };
}

async function opened(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
