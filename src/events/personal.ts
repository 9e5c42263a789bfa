import { type DescMessage, getOption } from "@bufbuild/protobuf";
import { EventSchema } from "../../gen/postern/v1/event_pb.ts";
import { personal } from "../../gen/postern/v1/options_pb.ts";
import { descsByType } from "./fact.ts";

/** The fields that the contract marks as personal, by their JSON names: of each type of event, and of `origin`. */
export function personalFields(): Readonly<Record<string, readonly string[]>> {
  const all = [...descsByType(), ["origin", EventSchema.field.origin.message] as const];
  const found = all.map(([name, desc]) => [name, desc ? personalOf(desc) : []] as const);
  return Object.fromEntries(found.filter(([, fields]) => fields.length > 0));
}

const personalOf = (desc: DescMessage): readonly string[] =>
  desc.fields.filter((field) => getOption(field, personal)).map(({ jsonName }) => jsonName);
