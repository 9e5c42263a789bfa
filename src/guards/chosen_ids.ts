import { type DescField, type DescMessage, hasOption } from "@bufbuild/protobuf";
import { isReflectList, isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { chosen_id } from "../../gen/postern/v1/options_pb.ts";
import { callerOf } from "../deps.ts";
import { refuse, type Violation } from "../errors.ts";
import { holding } from "./held_permissions.ts";
import type { Step } from "./interceptor.ts";

/** The callers who may choose the ids of new objects. */
export type ChosenIds = "administrators" | "instance_owners";

/** Makes the step that lets only owners of the instance choose ids; undefined for requests without any. */
export function chosenIds(input: DescMessage, who: ChosenIds): Step | undefined {
  if (who === "administrators" || !hasChosen(input)) return undefined;
  return (request, call) => {
    const fields = chosenIn(reflect(input, request));
    if (fields.length === 0 || holding(callerOf(call), "instance.write").some(({ scope }) => scope === "instance"))
      return;
    const violations = fields.map((field): Violation => ({ field, text: "ONLY_INSTANCE_OWNER", reason: "CHOSEN_ID" }));
    throw refuse.because("PERMISSION_DENIED", { params: { permission: "instance.write" }, violations });
  };
}

function hasChosen(type: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(type)) return false;
  seen.add(type);
  return type.fields.some((field) => hasOption(field, chosen_id) || (field.message && hasChosen(field.message, seen)));
}

/** The paths of the ids that a request chooses. */
function chosenIn(message: ReflectMessage, path = ""): string[] {
  return message.fields
    .filter((field) => message.isSet(field))
    .flatMap((field) => {
      const at = `${path}${field.jsonName}`;
      return hasOption(field, chosen_id) ? [at] : within(message, field, at);
    });
}

function within(message: ReflectMessage, field: DescField, at: string): string[] {
  const value = message.get(field);
  if (isReflectMessage(value)) return chosenIn(value, `${at}.`);
  if (!isReflectList(value)) return [];
  return [...value].flatMap((item, n) => (isReflectMessage(item) ? chosenIn(item, `${at}[${n}].`) : []));
}
