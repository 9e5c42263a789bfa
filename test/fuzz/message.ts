import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { oneOf, type Random } from "./random.ts";

const odd: readonly JsonValue[] = [
  ...[null, true, 0, -1, 1.5, 1e300, 2 ** 31, 2 ** 53, "", " ", "1e3", "NaN", "9".repeat(400), "\u0000", "\ud800"],
  ...[
    "🦊".repeat(300),
    "x".repeat(10_000),
    "' or 1=1 --",
    "../..",
    "%00",
    "2024-02-30T00:00:00Z",
    "-0s",
    "999999999999s",
  ],
  ...[[], {}, [[]], [null], { toString: 1 }, { "": "" }, { "@type": "type.googleapis.com/google.protobuf.Any" }],
  ...JSON.parse('[{"__proto__":{"a":1}},{"constructor":{"prototype":{}}}]'),
];

const numbers = [0, 1, 2, 10, 1000, 1001, -1, "7"];

/** A request that is nearly a message: most fields fit their types, and name objects of the pool. */
export function nearly(random: Random, message: DescMessage, pool: readonly string[], depth = 0): JsonObject {
  const entries = message.fields.flatMap((field): [string, JsonValue][] =>
    random(4) === 0
      ? []
      : [[random(8) === 0 ? field.name : field.jsonName, fieldValue(random, field, { pool, depth })]],
  );
  if (random(16) === 0) entries.push([oneOf(random, ["__proto__", "toString", "", "a".repeat(3000), "unknown"]), 1]);
  return Object.fromEntries(entries);
}

type Within = { readonly pool: readonly string[]; readonly depth: number };

function fieldValue(random: Random, field: DescField, within: Within): JsonValue {
  if (random(12) === 0) return oneOf(random, odd);
  if (field.fieldKind !== "list") return singular(random, field, within);
  return Array.from({ length: oneOf(random, [0, 1, 1, 2, 20]) }, () => singular(random, field, within));
}

function singular(random: Random, field: DescField, { pool, depth }: Within): JsonValue {
  if (field.message)
    return wellKnown[field.message.typeName]?.(random) ?? inner(random, field.message, { pool, depth });
  if (field.enum) return oneOf(random, [...field.enum.values.map(({ name }) => name), 1, 99]);
  if (field.scalar === 8) return random(2) === 0;
  if (field.scalar === 9) return text(random, field.name, pool);
  if (field.scalar === 12) return Buffer.from(text(random, field.name, pool)).toString("base64");
  return oneOf(random, numbers);
}

const inner = (random: Random, message: DescMessage, { pool, depth }: Within): JsonValue =>
  depth > 3 ? {} : nearly(random, message, pool, depth + 1);

const wellKnown: Readonly<Record<string, (random: Random) => JsonValue>> = {
  "google.protobuf.Timestamp": (random) =>
    oneOf(random, ["2024-02-29T00:00:00Z", "2124-01-01T00:00:00.5Z", "0000-00-00"]),
  "google.protobuf.Duration": (random) => oneOf(random, ["60s", "1.5s", "-1s", "86400s"]),
  "google.protobuf.FieldMask": () => "name",
};

function text(random: Random, name: string, pool: readonly string[]): string {
  if (/id$/.test(name)) return oneOf(random, pool);
  const fresh = `n${random(2 ** 30)}`;
  return oneOf(random, [
    fresh,
    fresh,
    "admin",
    "a@example.com",
    "+41446681800",
    "https://a.example/cb",
    "ORG_OWNER",
    "Zoë 🦊",
  ]);
}
