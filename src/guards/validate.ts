import { create, type DescMessage, type DescMethod, hasOption, type Message } from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { type Violation as Broken, createValidator, type Validator } from "@bufbuild/protovalidate";
import { field as fieldRules } from "../../gen/buf/validate/validate_pb.ts";
import { refuse, type Violation } from "../errors.ts";
import { valuesOf } from "./values.ts";

/** Every rule that a message breaks; trims the fields that say so on the way. */
export type Rules = (message: Message) => readonly Violation[];

/** Finds the rules of a type of message, made once for each type. */
export type RulesOf = (type: DescMessage) => Rules;

/** Makes the rules of messages from their field options; a rule that cannot be compiled is an error right away. */
export function messageRules(): RulesOf {
  const validator = createValidator({ regexMatch: patterns() });
  const known = new Map<DescMessage, Rules>();
  return (type) => {
    const rules = known.get(type) ?? rulesOf(type, validator);
    known.set(type, rules);
    return rules;
  };
}

/** Refuses a request that breaks a rule of its fields, with everything that is wrong at once. */
export function validate({ input }: DescMethod, rulesOf: RulesOf): (request: Message) => void {
  const rules = rulesOf(input);
  return (request) => {
    const violations = rules(request);
    if (violations.length > 0) throw refuse.invalid(violations);
  };
}

function rulesOf(type: DescMessage, validator: Validator): Rules {
  const inspect = valuesOf(type);
  if (!hasRules(type)) return inspect;
  const rules = (message: Message) => {
    const values = inspect(message);
    const result = validator.validate(type, message);
    if (result.kind === "valid") return values;
    if (result.kind === "error") throw result.error;
    return [...values, ...(result.violations ?? []).filter(isNew).map(violation)];
  };
  // Compiling rules takes 50 ms for the first message: better now than in somebody's call.
  rules(create(type));
  return rules;
}

function hasRules(type: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(type)) return false;
  seen.add(type);
  return type.fields.some((one) => hasOption(one, fieldRules) || (one.message && hasRules(one.message, seen)));
}

/**
 * Matches by the engine of the runtime: what the contract publishes as JSON Schema is read that way by everybody, and the
 * validator's own RE2 takes half a second to compile a class of Unicode.
 */
function patterns(): (pattern: string, text: string) => boolean {
  const known = new Map<string, RegExp>();
  return (pattern, text) => {
    const compiled = known.get(pattern) ?? new RegExp(pattern, "u");
    known.set(pattern, compiled);
    return compiled.test(text);
  };
}

// Values that name no enum value are found in every field, whether it has this rule or not.
const isNew = ({ ruleId }: Broken) => ruleId !== "enum.defined_only";

function violation({ field, message, ruleId }: Broken): Violation {
  const description = message.replace(/^(repeated )?value /, "").replace(/\b1 (character|item)s\b/, "1 $1");
  return { field: jsonPath(field), description, reason: ruleId.toUpperCase().replaceAll(".", "_") };
}

const jsonPath = (path: Path): string => path.reduce(stepInto, "");

function stepInto(before: string, part: Path[number]): string {
  switch (part.kind) {
    case "list_sub":
      return `${before}[${part.index}]`;
    case "map_sub":
      return `${before}[${JSON.stringify(String(part.key))}]`;
    case "field":
      return before ? `${before}.${part.jsonName}` : part.jsonName;
    case "oneof":
    case "extension":
      return before ? `${before}.${part.name}` : part.name;
  }
}
