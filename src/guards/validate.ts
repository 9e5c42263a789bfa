import { type DescMessage, type DescMethod, hasOption, type Message } from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { type Violation as Broken, createValidator } from "@bufbuild/protovalidate";
import { field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { isBeside, isWithin, type Violation, type WrongField } from "../errors.ts";
import type { MessageRule } from "../rules.ts";
import { brokenInSteps, type Find, type FindInPieces, inPieces, isBatch } from "./batch_rules.ts";
import type { Step } from "./interceptor.ts";
import { type LateViolations, refuseTogether } from "./late_rules.ts";
import { normalizer } from "./normalize.ts";
import { defectOf } from "./rule_text.ts";

/**
 * Finds every field rule that a message breaks, and trims the fields whose options say so. If any field is wrong, or was found wrong
 * before, broken cross-field rules are reported too; otherwise `crossFieldRules` enforces those.
 */
export type Rules = {
  (message: Message, found?: readonly WrongField[]): readonly Violation[];
  /** The same for a message without violations so far that is a long batch; undefined for any other. */
  readonly inPieces?: FindInPieces;
};

/** Returns the rules of a message type, made once per type. */
export type RulesOf = (type: DescMessage) => Rules;

// The rules of fields are compiled once for all servers of the process.
const validator = createValidator({ regexMatch: patterns() });
const compiled = new WeakMap<DescMessage, FieldRules>();

/** Makes the rules of messages from their field options, compiling each type's for its first message. */
export function messageRules(whole: readonly MessageRule[] = []): RulesOf {
  const known = new Map<DescMessage, Rules>();
  return (type) => {
    const own = whole.filter((rule) => rule.type === type);
    const rules = known.get(type) ?? rulesOf(type, own);
    known.set(type, rules);
    return rules;
  };
}

/** Refuses a request that breaks field rules, with every violation at once; malformed items may have outcomes instead. */
export function validate({ input }: DescMethod, rulesOf: RulesOf, late?: LateViolations): Step {
  const rules = rulesOf(input);
  const { inPieces } = rules;
  return refuseTogether(input, inPieces ? (message) => inPieces(message) ?? rules(message) : rules, late);
}

function rulesOf(type: DescMessage, own: readonly MessageRule[]): Rules {
  // Compiling those of all types takes 110 ms and 3 MB, and a node needs few of them. The first takes 26 ms, the next 13 ms, and half of
  // them no time at all.
  let batch: FindInPieces | undefined;
  let ofFields: FieldRules | undefined;
  const rules = (message: Message, found: readonly WrongField[] = []) => {
    ofFields ??= fieldRulesOf(type);
    const [inspect, check] = ofFields;
    const values = inspect(message);
    const fields = check(message);
    return withWhole(message, found, fields.length === 0 ? values : [...values, ...fields]);
  };
  const withWhole = (message: Message, found: readonly WrongField[], broken: readonly Violation[]) => {
    if (broken.length + found.length === 0) return broken;
    const wrong = [...found, ...broken];
    return [
      ...broken,
      ...applicable(own, wrong)
        .flatMap((rule) => rule.broken(message))
        .filter(isBeside(wrong)),
    ];
  };
  const withWholeInSteps = async (message: Message, broken: readonly Violation[]) =>
    broken.length === 0
      ? broken
      : [...broken, ...(await brokenInSteps(applicable(own, broken), message)).filter(isBeside(broken))];
  if (!isBatch(type)) return rules;
  return Object.assign(rules, {
    inPieces(message: Message) {
      batch ??= inPieces(type, fieldRulesOf);
      return batch?.(message)?.then((broken) => withWholeInSteps(message, broken));
    },
  });
}

/** The compiled rules of a type: those for every value, and those that its fields declare. */
type FieldRules = readonly [inspect: Find, check: Find];

function fieldRulesOf(type: DescMessage): FieldRules {
  const known = compiled.get(type);
  if (known) return known;
  const rules = [normalizer(type), hasRules(type) ? fieldsOf(type) : () => []] as const;
  compiled.set(type, rules);
  return rules;
}

function fieldsOf(type: DescMessage): (message: Message) => Violation[] {
  return (message) => {
    const result = validator.validate(type, message);
    if (result.kind === "valid") return [];
    if (result.kind === "error") throw result.error;
    return result.violations.filter(isNew).map(violation);
  };
}

function hasRules(type: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (seen.has(type)) return false;
  seen.add(type);
  return type.fields.some((one) => hasOption(one, fieldRules) || (one.message && hasRules(one.message, seen)));
}

/**
 * Matches patterns with JavaScript's engine, as readers of the published JSON Schema do. The validator's own RE2 takes half a second to
 * compile a Unicode class.
 */
function patterns(): (pattern: string, text: string) => boolean {
  const known = new Map<string, RegExp>();
  return (pattern, text) => {
    const compiled = known.get(pattern) ?? new RegExp(pattern, "u");
    known.set(pattern, compiled);
    return compiled.test(text);
  };
}

/** The cross-field rules whose fields are not already known to be wrong. */
function applicable(own: readonly MessageRule[], wrong: readonly WrongField[]): readonly MessageRule[] {
  const isWrong = (field: string) => wrong.some((one) => isWithin(one.field, field));
  return own.filter(({ weighs }) => !weighs.some(isWrong));
}

// Unknown enum values are already found in every field, with or without this rule.
const isNew = ({ ruleId }: Broken) => ruleId !== "enum.defined_only";

const violation = (broken: Broken): Violation => ({ field: jsonPath(broken.field), ...defectOf(broken) });

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
