import { type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { outcomes_unless } from "../../gen/postern/v1/options_pb.ts";
import { type Call, keys } from "../deps.ts";
import { isBeside, isOfAllItems, type Violation } from "../errors.ts";
import { fieldOf } from "./field.ts";

/** Keeps violations for the outcomes of their items; false if they refuse the whole request. */
type Keep = (found: readonly Violation[], request: Message, call: Call) => boolean;

/**
 * Makes the function that keeps the violations inside a batch's items for their outcomes; undefined if the request's items have none. A
 * batch with `allOrNothing`, or one that is itself invalid, is refused.
 */
export function outcomesOf(input: DescMessage): Keep | undefined {
  const items = input.fields.find((field) => hasOption(field, outcomes_unless));
  if (!items) return undefined;
  const isWhole = fieldOf(input, getOption(items, outcomes_unless));
  const inItem = `${items.jsonName}[`;
  return (found, request, call) => {
    if (isWhole(request) === true) return false;
    const known = call.values.get(keys.wrongItems);
    const more = found.filter(isBeside(known));
    if (!more.every((one) => one.field.startsWith(inItem) && !isOfAllItems(one))) return false;
    call.values.set(keys.wrongItems, [...known, ...more]);
    return true;
  };
}
