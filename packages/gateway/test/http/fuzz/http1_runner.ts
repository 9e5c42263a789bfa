import { bytesOf } from "./http1_bytes.ts";
import { type Outcome, outcomeOf, type Understood } from "./http1_outcome.ts";

/** The ports of both servers. */
export type Ports = { readonly own: number; readonly go: number };

/** Bytes that the servers understood differently. */
export type Finding = { readonly bytes: string; readonly own: Outcome; readonly go: Outcome };

/**
 * Sends bytes to both; undefined when every request that ours answered is the same request to Go, up to where one of them refused.
 * One request here is then never two there, nor the other way round.
 */
export async function tried(ports: Ports, bytes: Buffer): Promise<Finding | undefined> {
  const [own, go] = await Promise.all([outcomeOf(ports.own, bytes), outcomeOf(ports.go, bytes)]);
  const isSame = own.requests.every((request, at) => isEqual(request, go.requests[at] ?? (go.isRefused && request)));
  return isSame ? undefined : { bytes: bytes.toString("latin1"), own, go };
}

const isEqual = (one: Understood, other: Understood | false) =>
  other !== false && one.method === other.method && one.target === other.target && one.body === other.body;

// A connection that is not understood is held for a second.
const connectionsAtOnce = 200;

/** Tries the sequences of so many seeds; a finding is one that is found again, the last time with nothing beside it. */
export async function findings(ports: Ports, first: number, count: number): Promise<Map<number, Finding>> {
  const found = new Map<number, Finding>();
  let next = first;
  const work = async () => {
    while (next < first + count) {
      const seed = next++;
      const finding = (await tried(ports, bytesOf(seed))) && (await tried(ports, bytesOf(seed)));
      if (finding) found.set(seed, finding);
    }
  };
  await Promise.all(Array.from({ length: connectionsAtOnce }, work));
  // Both servers give up after a second, which may pass on a busy machine: what is found is found again by itself.
  for (const seed of found.keys()) if (!(await tried(ports, bytesOf(seed)))) found.delete(seed);
  return found;
}
