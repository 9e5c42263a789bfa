import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import type { Violation } from "./errors.ts";

/** A cross-field rule of a message. */
export type MessageRule = {
  readonly type: DescMessage;
  /** The fields that the rule compares; if one of them breaks a rule of its own, this rule is not checked. */
  readonly weighs: readonly string[];
  broken(message: Message): readonly Violation[];
  /** The same, item by item, so that other work can use the event loop in between. */
  steps?(message: Message): Iterable<readonly Violation[]>;
};

/** Makes a cross-field rule of a message with many items, which takes long for all of them together. */
export function itemsRule<D extends DescMessage>(
  type: D,
  steps: (message: MessageShape<D>) => Iterable<readonly Violation[]>,
): MessageRule {
  return { type, weighs: [], broken: (message) => [...steps(message as MessageShape<D>)].flat(), steps };
}

/** Makes a cross-field rule; `broken` returns every violation. */
export function messageRule<D extends DescMessage>(
  type: D,
  broken: (message: MessageShape<D>) => readonly Violation[],
  weighs: readonly string[] = [],
): MessageRule {
  return { type, weighs, broken };
}

/**
 * A rule of a message that only the database can decide. The handler enforces it; if other fields of a request are invalid, its violations
 * are listed with theirs. `C` is the call that guards and handlers receive.
 */
export type LateRule<C> = {
  readonly type: DescMessage;
  /** The fields that the rule needs; if one of them breaks a rule of its own, this rule is not checked. */
  readonly weighs: readonly string[];
  /** Finds violations in addition to those `found` without the database, skipping fields that are already invalid. */
  find(message: Message, call: C, found: readonly Violation[]): Promise<readonly Violation[]>;
};

/** Makes a late rule; `find` returns every violation, and none for an object that does not exist. */
export function lateRule<D extends DescMessage, C>(
  type: D,
  weighs: readonly string[],
  find: (message: MessageShape<D>, call: C, found: readonly Violation[]) => Promise<readonly Violation[]>,
): LateRule<C> {
  return { type, weighs, find };
}
