import { type DescField, getOption, hasOption } from "@bufbuild/protobuf";
import { type FieldBounds, validateBounds } from "@postern/gateway";
import { max_inner_items } from "../../gen/postern/v1/options_pb.ts";

/** Bounds the number of values in a message by the rules of its fields and by `max_inner_items`. */
export const contractBounds: FieldBounds = { ...validateBounds, innerItems };

function innerItems(field: DescField): number {
  if (!hasOption(field, max_inner_items)) return Number.POSITIVE_INFINITY;
  const isDeep = field.message?.fields.some(({ fieldKind, message }) => fieldKind === "list" && message) ?? true;
  if (isDeep) throw new Error(`${field} has max_inner_items, which counts the items of lists of single values`);
  return getOption(field, max_inner_items);
}
