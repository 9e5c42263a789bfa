import { isRefused, type Outcome, refusal, type StreamOutcome } from "./outcome.ts";

/** A difference between the outcomes of one stream. */
export type Difference = {
  readonly streamId: number;
  readonly answer: string | undefined;
  readonly own: string;
  readonly node: string;
};

/** The streams that ours answered and Node's did not answer the same, or that ours neither answered nor refused. */
export function differences(own: Outcome, node: Outcome): Difference[] {
  const ids = new Set([...own.streams.keys(), ...node.streams.keys()]);
  return [...ids].flatMap((streamId) => {
    const one = own.streams.get(streamId);
    const other = node.streams.get(streamId);
    const isSame = one?.answer === other?.answer || isWaiting(one?.answer, other);
    const hasNoAnswer = one?.answer === undefined && (one?.reset !== undefined || isRefused(own));
    const isRefusal = hasNoAnswer || one?.answer === refusal;
    return isSame || isRefusal
      ? []
      : [{ streamId, answer: one?.answer, own: received(own, streamId), node: received(node, streamId) }];
  });
}

/** Whether an answer of Node's is the same as far as the client's window lets it out. */
const isWaiting = (own = "", { part, reset }: StreamOutcome = {}) =>
  part !== undefined && reset === undefined && own.startsWith(part);

function received(outcome: Outcome, streamId: number): string {
  const { answer, reset } = outcome.streams.get(streamId) ?? {};
  const end = outcome.isClosed || outcome.goaway !== undefined ? `, GOAWAY ${outcome.goaway}` : "";
  return `${answer ?? (reset === undefined ? "nothing" : `RST_STREAM ${reset}`)}${end}`;
}
