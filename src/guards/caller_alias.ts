import { type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import { caller_alias } from "../../gen/postern/v1/options_pb.ts";
import { type Call, callerOf } from "../deps.ts";

const alias = "me";

/** Replaces `me` with the caller's id in the fields whose option says so. */
export function resolveAlias(input: DescMessage): (request: Message, call: Call) => void {
  const replace = replacement(input);
  return replace ? (request, call) => replace(request as Fields, callerOf(call).userId) : () => {};
}

type Fields = Record<string, unknown>;
type Replace = (message: Fields, id: string) => void;

/** Made at start, so that the many requests without such a field cost nothing. */
function replacement(type: DescMessage): Replace | undefined {
  const all = type.fields.flatMap((field) => ofField(field) ?? []);
  if (all.length === 0) return undefined;
  return (message, id) => {
    for (const replace of all) replace(message, id);
  };
}

const itemsOf = (value: unknown) => (Array.isArray(value) ? value : value ? [value] : []) as readonly Fields[];

function ofField(field: DescField): Replace | undefined {
  const { localName: name } = field;
  if (getOption(field, caller_alias))
    return (message, id) => {
      if (message[name] === alias) message[name] = id;
    };
  const inner = field.fieldKind !== "map" && field.message ? replacement(field.message) : undefined;
  return inner && ((message, id) => itemsOf(message[name]).forEach((item) => void inner(item, id)));
}
