import { readFile } from "node:fs/promises";
import type { TestOutcome } from "./program.ts";

/** Reads how tests ended from a report in JUnit's XML, which pytest and Maven write. */
export async function readOutcomes(file: string): Promise<TestOutcome[]> {
  const cases = (await readFile(file, "utf8")).matchAll(/<testcase ([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs);
  return [...cases].map(([, attributes = "", inside = ""]) => {
    const name = /\bname="(.*?)"/.exec(attributes)?.[1] ?? "";
    return /<(failure|error|skipped)\b/.test(inside) ? { name, failure: plain(inside) } : { name };
  });
}

const characters: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function plain(xml: string): string {
  const named = /&(lt|gt|quot|apos|amp);/g;
  const numbered = /&#(?:x([\da-f]+)|(\d+));/gi;
  return xml
    .replace(/<!\[CDATA\[|\]\]>/g, "")
    .replace(numbered, (_, hex, decimal) => String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal)))
    .replace(named, (_, name) => characters[name] ?? "");
}
