import { type DescField, type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { max_inner_items, outcomes_unless } from "../../gen/postern/v1/options_pb.ts";
import type { Violation } from "../errors.ts";
import type { MessageRule } from "../rules.ts";
import { mapInPieces, pause } from "../security/pieces.ts";

/** Finds violations in a message of one type. */
export type Find = (message: Message) => readonly Violation[];

/** The same for a batch with many items, in pieces; undefined if the message has to be searched as a whole. */
export type FindInPieces = (message: Message) => Promise<readonly Violation[]> | undefined;

// The rules of fewer items take less than half a millisecond.
const few = 32;

type Items = DescField & { readonly fieldKind: "list"; readonly listKind: "message" };

/** The list of a batch, whose items have outcomes of their own; undefined if the type is no batch. */
const itemsOf = (type: DescMessage): Items | undefined =>
  type.fields.find(
    (field): field is Items =>
      field.fieldKind === "list" && field.listKind === "message" && hasOption(field, outcomes_unless),
  );

export const isBatch = (type: DescMessage): boolean => itemsOf(type) !== undefined;

/**
 * Makes the search that applies rules to a batch item by item; undefined for a type that is no batch. `finders` makes the searches of a
 * type, each of which is applied to all items before the next one.
 */
export function inPieces(type: DescMessage, finders: (type: DescMessage) => readonly Find[]): FindInPieces | undefined {
  const list = itemsOf(type);
  const most = list && mostItems(list);
  if (!list || most === undefined) return undefined;
  const mostInner = hasOption(list, max_inner_items) ? getOption(list, max_inner_items) : Number.POSITIVE_INFINITY;
  const [ofWhole, ofItem] = [finders(type), finders(list.message)];
  return (message) => {
    const batch = message as Message & Record<string, Message[]>;
    const items = batch[list.localName] ?? [];
    if (items.length <= few || items.length > most || innerItems(list.message, items) > mostInner) return undefined;
    return inTurn(ofWhole, ofItem, { batch, list, items });
  };
}

/** Finds the violations of cross-field rules, in pieces where a rule has steps. */
export async function brokenInSteps(rules: readonly MessageRule[], message: Message): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const rule of rules)
    for (const broken of rule.steps?.(message) ?? [rule.broken(message)]) {
      found.push(...broken);
      await pause();
    }
  return found;
}

type Batch = {
  readonly batch: Message & Record<string, Message[]>;
  readonly list: Items;
  readonly items: Message[];
};

async function inTurn(ofWhole: readonly Find[], ofItem: readonly Find[], { batch, list, items }: Batch) {
  const found: Violation[] = [];
  for (const [at, find] of ofItem.entries()) {
    const ofOthers = withoutItems(() => ofWhole[at]?.(batch) ?? [], { batch, list, items });
    found.push(...ofOthers.filter(({ field }) => field !== list.jsonName));
    const ofItems = await mapInPieces(items, (item, index) =>
      find(item).map((one) => ({ ...one, field: within(`${list.jsonName}[${index}]`, one.field) })),
    );
    found.push(...ofItems.flat());
  }
  return found;
}

/** Searches a batch as if it had no items; a rule may trim other fields of the message, so the message itself is searched, not a copy. */
function withoutItems<T>(find: () => T, { batch, list, items }: Batch): T {
  try {
    batch[list.localName] = [];
    return find();
  } finally {
    batch[list.localName] = items;
  }
}

const within = (item: string, field: string): string => (field === "" ? item : `${item}.${field}`);

function innerItems(type: DescMessage, items: readonly Message[]): number {
  const lists = type.fields.filter(({ fieldKind }) => fieldKind === "list");
  let all = 0;
  for (const item of items as readonly (Message & Record<string, unknown[]>)[])
    for (const { localName } of lists) all += item[localName]?.length ?? 0;
  return all;
}

/** The maximum length of a list that has no other rule for the list as a whole; undefined if it has. */
function mostItems(list: DescField): number | undefined {
  const rules = hasOption(list, fieldRules) ? getOption(list, fieldRules).type : undefined;
  if (rules?.case !== "repeated") return undefined;
  const { maxItems, minItems, unique, items } = rules.value;
  if (unique || items !== undefined || Number(minItems) > few) return undefined;
  return maxItems === 0n ? undefined : Number(maxItems);
}
