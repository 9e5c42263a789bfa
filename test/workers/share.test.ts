import { expect, test } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { shareOf } from "../../src/workers/share.ts";

const shares = (env: Record<string, string>, of: number) => {
  const config = readConfig(env);
  return Array.from({ length: of }, (_, index) => shareOf(config, index + 1, of));
};

test("connections and hashing threads are divided to the last one", () => {
  const three = shares({ DATABASE_CONNECTIONS: "16", HASH_CONCURRENCY: "4" }, 3);
  expect(three.map(({ databaseConnections }) => databaseConnections)).toEqual([6, 5, 5]);
  expect(three.map(({ hashConcurrency }) => hashConcurrency)).toEqual([2, 1, 1]);
});

test("each worker hashes, has a queue for it if there is one, and takes the largest message", () => {
  const [first] = shares({ HASH_CONCURRENCY: "1", HASH_QUEUE: "3", BODIES_MAX_BYTES: "8388608", CALLS_MAX: "2" }, 8);
  expect(first).toMatchObject({ hashConcurrency: 1, hashQueue: 1, bodiesMaxBytes: 8_388_608, callsMax: 1 });
  expect(shares({ HASH_QUEUE: "0" }, 2)[0]?.hashQueue).toBe(0);
});

test("limits of calls are divided and rounded up; none stays none", () => {
  const [first] = shares({ CALLS_PER_ADDRESS_PER_MINUTE: "301", CALLS_PER_CALLER_PER_MINUTE: "0" }, 2);
  expect(first).toMatchObject({ callsPerAddressPerMinute: 151, callsPerCallerPerMinute: 0 });
});
