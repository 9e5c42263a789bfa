import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { kinds } from "../../console/application/kinds.ts";
import { snippetsFor } from "../../console/application/snippets.ts";
import { quoted } from "../../console/parts/quoted.ts";

// Owners of projects choose client ids and redirect URIs; whoever copies a snippet must not run what they chose.
const chosen = `a'$(touch x)"\`b\`;\${c}\\`;
const ids = { issuer: "https://id.example.com", clientId: chosen, redirectUri: `https://x.example/${chosen}` };

test("what others have chosen stays text in every snippet", () => {
  for (const { name, text } of kinds.flatMap((kind) => snippetsFor(kind, ids))) {
    const written = [JSON.stringify(chosen).slice(1, -1), chosen.replaceAll("'", "'\\''")];
    const known = [...written, JSON.stringify(chosen).slice(1, -1).replaceAll("$", "\\$")];
    const rest = known.sort((a, b) => b.length - a.length).reduce((left, one) => left.replaceAll(one, ""), text);
    expect(rest, name).not.toMatch(/touch x/);
  }
});

test("a shell reads a quoted text as it is", () => {
  expect(execFileSync("sh", ["-c", `printf %s ${quoted(chosen)}`], { encoding: "utf8" })).toBe(chosen);
});

test("the snippets for a shell can be read by one", () => {
  const texts = [...snippetsFor("device", ids), ...snippetsFor("api", ids)].filter(({ name }) => name === "curl");
  expect(texts).toHaveLength(2);
  for (const { text } of texts) execFileSync("sh", ["-n"], { input: text });
});
