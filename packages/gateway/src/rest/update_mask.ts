import { create, type DescField, type DescMessage, type JsonObject, type Message } from "@bufbuild/protobuf";
import { isReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { type FieldMask, FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { isWellKnown } from "../codec/json/leaf.ts";
import { fieldsByName } from "../codec/json/shape.ts";
import { fieldIn } from "../codec/json/syntax.ts";
import { isObject } from "../codec/json/text.ts";
import { invalid } from "../errors/gateway_error.ts";

/** The field of an update that is its body, and the field of its mask. */
export type MaskedBody = {
  readonly request: DescMessage;
  readonly body: DescField;
  readonly content: DescMessage;
  readonly mask: DescField;
};

/** Finds the `update_mask` that a body determines; undefined unless the body is a message and the request has such a mask. */
export function maskedBody(request: DescMessage, body: DescField | undefined): MaskedBody | undefined {
  const mask = request.fields.find(({ name }) => name === "update_mask");
  const isMask = mask?.fieldKind === "message" && mask.message.typeName === FieldMaskSchema.typeName;
  if (!isMask || body?.fieldKind !== "message" || isWellKnown(body.message)) return undefined;
  return { request, body, content: body.message, mask };
}

/** Sets the mask of an update to the keys of its body, unless the request itself names fields. */
export function fillMask(message: Message, { request, body, content, mask }: MaskedBody, json: JsonObject): void {
  const into = reflect(request, message);
  const inBody = json[body.jsonName];
  if (hasPaths(into.get(mask)) || !isObject(inBody)) return;
  const paths = maskPaths(content, inBody);
  if (paths.length > maxPaths) {
    const params = { max: maxPaths };
    throw invalid([{ field: mask.jsonName, text: "MASK_FIELDS", params, reason: "REPEATED_MAX_ITEMS" }]);
  }
  if (paths.length > 0) into.set(mask, reflect(FieldMaskSchema, create(FieldMaskSchema, { paths })));
}

const hasPaths = (mask: unknown) =>
  isReflectMessage(mask, FieldMaskSchema) && (mask.message as FieldMask).paths.length > 0;

// A path repeats the names above it, so the mask of a deep body is much larger than the body.
const maxPaths = 1000;

/** The mask paths for every key of a JSON message: to each value, list and map, through the messages it contains. */
export function maskPaths(type: DescMessage, json: JsonObject, parent = ""): string[] {
  return Object.entries(json).flatMap(([key, value]) => {
    const field = fieldsByName(type).get(key)?.field;
    if (!field) return [];
    const path = fieldIn(parent, field.name);
    const isNested = field.fieldKind === "message" && !isWellKnown(field.message) && isObject(value);
    return isNested && Object.keys(value).length > 0 ? maskPaths(field.message, value, path) : [path];
  });
}
