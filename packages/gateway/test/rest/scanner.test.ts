import { expect, test } from "vitest";
import { scan } from "../../src/rest/scanner.ts";

const rows: readonly { template: string; want?: readonly string[]; error?: string }[] = [
  { template: "/v1/users", want: ["/@1", "text v1@2", "/@4", "text users@5", "end@10"] },
  { template: "/{a.b=x/*}:go", want: "/@1 {@2 text_a.b@3 =@6 text_x@7 /@8 *@9 }@10 :@11 text_go@12 end@14".split(" ") },
  { template: "/**", want: ["/@1", "**@2", "end@4"] },
  { template: "/***", want: ["/@1", "**@2", "*@4", "end@5"] },
  { template: "/.well-known/a%20b", want: ["/@1", "text .well-known@2", "/@13", "text a%20b@14", "end@19"] },
  { template: "", want: ["end@1"] },
  { template: "/a b", error: 'syntax error at column 3: unexpected " "' },
  { template: "/a?b", error: 'syntax error at column 3: unexpected "?"' },
  { template: "/a%2", error: 'syntax error at column 3: unexpected "%"' },
  { template: "/ü", error: 'syntax error at column 2: unexpected "ü"' },
  { template: "/a😀", error: 'syntax error at column 3: unexpected "😀"' },
];

for (const { template, want, error } of rows) {
  test(`the template ${JSON.stringify(template)} ${error ? "is refused" : "is cut into its pieces"}`, () => {
    const tokens = () =>
      scan(template).map(({ kind, text, column }) => `${kind}${kind === "text" ? ` ${text}` : ""}@${column}`);
    if (error) expect(tokens).toThrow(error);
    else expect(tokens()).toEqual(want?.map((token) => token.replace("_", " ")));
  });
}
