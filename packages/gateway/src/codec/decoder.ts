import { type DescMessage, fromBinary, type Message, type Registry } from "@bufbuild/protobuf";
import { GatewayError } from "../errors/gateway_error.ts";
import type { FieldBounds } from "../limits/field_bounds.ts";
import { itemCount } from "./item_count.ts";
import { anyTypes, type Draft, decodeJson, type Rules, readJsonObject } from "./json.ts";

/** Decodes requests of one type, for every door: first their values are counted, as no decoder can be stopped midway. */
export type Decoder = {
  readonly fromBinary: (bytes: Uint8Array) => Message;
  /** From a JSON text that is the whole message. */
  readonly fromJson: (text: Uint8Array) => Message;
  /** From a JSON value that was put together from a body, a path and a query. */
  readonly fromDraft: (draft: Draft) => Message;
};

/** What a decoder goes by beside the type itself. */
export type DecoderOptions = {
  readonly rules?: Rules | undefined;
  readonly bounds?: FieldBounds | undefined;
  /** The types that an Any in JSON may hold. */
  readonly registry?: Registry | undefined;
};

/** Makes the decoder of a type of message. */
export function decoderOf(
  type: DescMessage,
  { rules = noRules, bounds, registry = anyTypes }: DecoderOptions,
): Decoder {
  const count = itemCount(type, bounds);
  const fromDraft = (draft: Draft) => {
    count.json(draft.value);
    return decodeJson(type, draft, { rules, registry });
  };
  return {
    fromBinary(bytes) {
      try {
        count.binary(bytes);
        return fromBinary(type, bytes, { readUnknownFields: false });
      } catch (cause) {
        throw cause instanceof GatewayError ? cause : new GatewayError("MALFORMED_BODY", { cause });
      }
    },
    fromJson: (text) => fromDraft(readJsonObject(text, type)),
    fromDraft,
  };
}

const noRules: Rules = () => [];
