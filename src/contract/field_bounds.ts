import { type DescField, getOption, hasOption } from "@bufbuild/protobuf";
import { type FieldBounds, validateBounds } from "@postern/gateway";
import { max_inner_items, max_values } from "../../gen/postern/v1/options_pb.ts";

/** Limits the number of values in a message by its field rules, `max_inner_items` and `max_values`. */
export const contractBounds: FieldBounds = { ...validateBounds, innerItems, openValues };

function openValues(field: DescField): number {
  return hasOption(field, max_values) ? getOption(field, max_values) : validateBounds.openValues(field);
}

function innerItems(field: DescField): number {
  if (!hasOption(field, max_inner_items)) return Number.POSITIVE_INFINITY;
  const isDeep = field.message?.fields.some(({ fieldKind, message }) => fieldKind === "list" && message) ?? true;
  if (isDeep) throw new Error(`${field} has max_inner_items, which counts the items of lists of single values`);
  return getOption(field, max_inner_items);
}
