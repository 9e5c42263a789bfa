import { type DescField, type DescMessage, getOption, hasOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { isReflectMessage, type ReflectList, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { field as fieldRules } from "../../gen/buf/validate/validate_pb.ts";
import { trim } from "../../gen/postern/v1/options_pb.ts";
import { mostViolations, type Violation } from "../errors.ts";

/** Trims the fields that say so, and finds what no field may hold: broken text, and numbers that name no enum value. */
export function inspectValues(type: DescMessage, message: Message): Violation[] {
  const found: Violation[] = [];
  inspect(reflect(type, message), "", found);
  return found;
}

function inspect(message: ReflectMessage, parent: string, found: Violation[]): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    const path = parent ? `${parent}.${field.jsonName}` : field.jsonName;
    switch (field.fieldKind) {
      case "scalar": {
        const value = message.get(field);
        const trimmed = trimmedBy(field, value);
        if (trimmed !== value) message.set(field, trimmed);
        inspectValue(field, trimmed, { path, found });
        break;
      }
      case "enum":
        inspectValue(field, message.get(field), { path, found });
        break;
      case "message":
        inspect(message.get(field), path, found);
        break;
      case "list":
        inspectList(field, message.get(field), { path, found });
        break;
      case "map":
        for (const [key, value] of message.get(field)) {
          const at = { path: `${path}[${JSON.stringify(String(key))}]`, found };
          inspectText(key, at);
          inspectItem(field, value, at);
        }
    }
  }
}

type At = { readonly path: string; readonly found: Violation[] };

function inspectList(field: DescField, list: ReflectList, { path, found }: At): void {
  shorten(field, list);
  for (let index = 0; index < list.size; index += 1) {
    const value = list.get(index);
    const trimmed = trimmedBy(field, value);
    if (trimmed !== value) list.set(index, trimmed);
    inspectItem(field, trimmed, { path: `${path}[${index}]`, found });
  }
}

function inspectItem(field: DescField, value: unknown, at: At): void {
  if (isReflectMessage(value)) inspect(value, at.path, at.found);
  else inspectValue(field, value, at);
}

function inspectValue(field: DescField, value: unknown, at: At): void {
  if (field.scalar === ScalarType.STRING) inspectText(value, at);
  if (field.enum?.open && typeof value === "number" && !field.enum.value[value]) {
    const names = field.enum.values.map(({ name }) => name).join(", ");
    complain(at, { description: `must be one of ${names}`, reason: "ENUM_DEFINED_ONLY" });
  }
}

function inspectText(value: unknown, at: At): void {
  if (typeof value !== "string") return;
  // PostgreSQL stores no U+0000 (22021), and half a surrogate pair would be stored as another character.
  if (value.includes("\0"))
    complain(at, { description: "must not contain the character U+0000", reason: "STRING_NULL_CHARACTER" });
  if (!value.isWellFormed()) complain(at, { description: "must be well-formed Unicode", reason: "STRING_UNICODE" });
}

function complain({ path, found }: At, wrong: Omit<Violation, "field">): void {
  if (found.length < mostViolations) found.push({ field: path, ...wrong });
}

function trimmedBy(field: DescField, value: unknown): unknown {
  return typeof value === "string" && getOption(field, trim) ? value.trim() : value;
}

/** Cuts a list that is too long anyway to one item too many, so that checking the rest costs nothing. */
function shorten(field: DescField, list: ReflectList): void {
  const type = hasOption(field, fieldRules) ? getOption(field, fieldRules).type : undefined;
  const most = type?.case === "repeated" ? type.value.maxItems : undefined;
  if (!most || list.size <= Number(most) + 1) return;
  const kept = [...list].slice(0, Number(most) + 1);
  list.clear();
  for (const item of kept) list.add(item);
}
