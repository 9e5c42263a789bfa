import { type Difference, differences } from "./difference.ts";
import { explained } from "./legitimate.ts";
import { openTarget, outcomeOf, type Target } from "./outcome.ts";
import { chunksOf, type Sequence, sequenceOf } from "./sequence.ts";

/** Both implementations, ready for sequences. */
export type Pair = Disposable & { readonly own: Target; readonly node: Target };

/** Opens both. */
export function openPair(): Pair {
  const own = openTarget("own");
  const node = openTarget("node");
  return {
    own,
    node,
    [Symbol.dispose]: () => {
      own[Symbol.dispose]();
      node[Symbol.dispose]();
    },
  };
}

/** A sequence with a wrong outcome. */
export type Finding = {
  readonly frames: readonly Buffer[];
  readonly differences: readonly Difference[];
  readonly faults: readonly unknown[];
};

/** Sends a sequence to both; undefined when the outcomes agree, or differ for a listed reason. */
export async function tried(pair: Pair, sequence: Sequence): Promise<Finding | undefined> {
  const chunks = chunksOf(sequence);
  const [own, node] = await Promise.all([outcomeOf(pair.own, chunks), outcomeOf(pair.node, chunks)]);
  const faults = [...pair.own.faults.splice(0), ...pair.node.faults.splice(0)];
  const found = differences(own, node).filter(
    ({ streamId }) => !explained({ frames: sequence.frames, own, node, streamId }),
  );
  return found.length > 0 || faults.length > 0 ? { frames: sequence.frames, differences: found, faults } : undefined;
}

/** Removes frames as long as the rest is still a finding. */
export async function minimised(pair: Pair, finding: Finding): Promise<Finding> {
  let least = finding;
  for (let at = least.frames.length - 1; at >= 0; at -= 1) {
    const frames = least.frames.toSpliced(at, 1);
    least = (await tried(pair, { frames, cuts: undefined })) ?? least;
    at = Math.min(at, least.frames.length);
  }
  return least;
}

/** Tries the sequence of a seed; minimises a finding. */
export async function triedSeed(pair: Pair, seed: number): Promise<Finding | undefined> {
  const found = await tried(pair, sequenceOf(seed));
  return found && minimised(pair, found);
}
