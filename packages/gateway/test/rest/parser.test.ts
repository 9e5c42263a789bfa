import { expect, test } from "vitest";
import { parseTemplate, type Template } from "../../src/rest/parser.ts";

/** Writes a template out again: segments, then each variable with its range, then the verb. */
function shown({ segments, variables, verb }: Template): string {
  const path = segments.map((one) => (one.kind === "literal" ? one.value : one.kind === "one" ? "*" : "**")).join(" ");
  const filled = variables.map(
    (one) => `${one.path.join(".")}=${one.start}-${one.end ?? "end"}${one.multi ? "+" : ""}`,
  );
  return [path, ...filled, ...(verb ? [`:${verb}`] : [])].join(" | ");
}

const rows: readonly { template: string; want?: string; error?: string }[] = [
  { template: "/v1", want: "v1" },
  { template: "/v1/users/me", want: "v1 users me" },
  { template: "/v1/{user_id}", want: "v1 * | user_id=1-2" },
  { template: "/v1/{user_id}:lock", want: "v1 * | user_id=1-2 | :lock" },
  { template: "/v1/{user_id}/phone:verify", want: "v1 * phone | user_id=1-2 | :verify" },
  { template: "/v1/users:batchAdd", want: "v1 users | :batchAdd" },
  { template: "/{a.b_2.c}", want: "* | a.b_2.c=0-1" },
  { template: "/{a=*}", want: "* | a=0-1" },
  { template: "/{a=x}", want: "x | a=0-1" },
  { template: "/{a=x/*}/y/{b=*/z}", want: "x * y * z | a=0-2+ | b=3-5+" },
  { template: "/v1/*/x", want: "v1 * x" },
  { template: "/v1/**", want: "v1 **" },
  { template: "/v1/{rest=**}", want: "v1 ** | rest=1-end+" },
  { template: "/v1/{rest=a/*/**}:go", want: "v1 a * ** | rest=1-end+ | :go" },
  { template: "/a%20b/%7Bx%7D", want: "a b {x}" },
  { template: "/v1/:go", error: 'column 5: expected a segment, found ":"' },
  { template: "", error: 'column 1: expected "/", found the end' },
  { template: "v1", error: 'column 1: expected "/", found "v1"' },
  { template: "/", error: "column 2: expected a segment, found the end" },
  { template: "/v1/", error: "column 5: expected a segment, found the end" },
  { template: "/v1//x", error: 'column 5: expected a segment, found "/"' },
  { template: "/v1/**/x", error: "column 8: ** must be the last segment" },
  { template: "/v1/{a=**}/{b}", error: "column 12: ** must be the last segment" },
  { template: "/v1/{a=**/x}", error: "column 11: ** must be the last segment" },
  { template: "/v1/***", error: 'column 7: expected the end, found "*"' },
  { template: "/v1/a*", error: 'column 6: expected the end, found "*"' },
  { template: "/v1/{}", error: 'column 6: expected a name, found "}"' },
  { template: "/v1/{a", error: 'column 7: expected "}", found the end' },
  { template: "/v1/{a=}", error: 'column 8: expected a segment, found "}"' },
  { template: "/v1/{a={b}}", error: 'column 8: expected a segment, found "{"' },
  { template: "/v1/{a..b}", error: "column 8: expected the name of a field" },
  { template: "/v1/{a.2b}", error: "column 8: expected the name of a field" },
  { template: "/v1/{a-b}", error: "column 6: expected the name of a field" },
  { template: "/v1/{a}/{a}", error: "column 10: the variable a is there twice" },
  { template: "/v1/{a}x", error: 'column 8: expected the end, found "x"' },
  { template: "/v1/a:b/c", error: 'column 8: expected the end, found "/"' },
  { template: "/v1/a:b:c", error: 'column 8: expected the end, found ":"' },
  { template: "/v1/a:", error: "column 7: expected a name, found the end" },
  { template: "/v1/%FF", error: 'column 5: "%FF" is not UTF-8 when decoded' },
];

for (const { template, want, error } of rows) {
  test(`the template ${template || "without anything"} ${error ? "is refused" : "is understood"}`, () => {
    if (error) expect(() => parseTemplate(template)).toThrow(`syntax error at ${error}`);
    else expect(shown(parseTemplate(template))).toBe(want);
  });
}
