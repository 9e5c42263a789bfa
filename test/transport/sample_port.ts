import { type Limits, type Listening, listen } from "../../packages/gateway/src/http/server.ts";
import type { Certificate } from "../../packages/gateway/src/http/tls.ts";
import { adapterRoom } from "../../packages/gateway/src/rpc/adapter/room.ts";
import { jsonDoor } from "../../packages/gateway/src/rpc/door.ts";
import type { Rpc } from "../../packages/gateway/src/rpc/operations.ts";
import { type SampleOptions, sampleParts } from "./sample_door.ts";

/** What a port in a test is made of, where it differs from the plainest. */
export type WireOptions = SampleOptions & {
  readonly certificate?: Certificate;
  readonly deadlineMaxMs?: number;
  /** Rpcs beside those of the sample. */
  readonly standard?: readonly Rpc[];
};

const limits: Limits = {
  messageMaxBytes: 1000,
  headersMaxBytes: 4096,
  headerTimeoutMs: 5000,
  bodyTimeoutMs: 5000,
  idleTimeoutMs: 5000,
  streamsMax: 100,
  connectionAgeMs: 0,
  bodiesMaxBytes: 67_108_864,
  unknownStreamsMax: 100_000,
  shutdownGraceMs: 2000,
};

/** Opens a port for the sample service: `/one/{name}`, `/do`, `/watch` and one more for POST without a body. */
export function openSample(some: Partial<Limits> = {}, options: WireOptions = {}): Promise<Listening> {
  const { certificate, deadlineMaxMs = 60_000, standard = [] } = options;
  const all = { ...limits, ...some };
  const sample = sampleParts(
    [
      { name: "One", rule: { pattern: { case: "get", value: "/one/{name}" } } },
      { name: "Do", rule: { pattern: { case: "post", value: "/do" }, body: "*" } },
      { name: "Watch", rule: { pattern: { case: "get", value: "/watch" } }, stream: true },
    ],
    options,
  );
  const parts = { ...sample, limits: { ...all, deadlineMaxMs } };
  const door = jsonDoor(parts, [adapterRoom({ ...parts, standard })]);
  return listen({ host: "127.0.0.1", port: 0, limits: all, door, certificate });
}
