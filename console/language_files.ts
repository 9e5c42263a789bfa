import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "rolldown";
import { parseAst } from "rolldown/parseAst";
import { languages } from "./languages.ts";

/** A text in a source: its position, and its words in each language. */
type Found = { readonly start: number; readonly end: number; readonly words: readonly string[] };

/** The module through which the console loads a language. */
const seam = "/texts/words.ts";
const virtual = "words-of-";

/**
 * Makes a plugin by which a browser loads one language: in the bundle each text of `console/texts` is a number, and each language a file of
 * all texts by their numbers.
 */
export function languageFiles(console: string): Plugin {
  const folder = join(console, "texts");
  // In an order that does not depend on which module is read first, so that the same sources yield the same files.
  const paths = readdirSync(folder)
    .sort()
    .map((name) => join(folder, name));
  const found = new Map(paths.map((path) => [path, textsIn(readFileSync(path, "utf8"))]));
  const all = [...found.values()].flat();
  const numbers = new Map(all.map((text, number) => [text, number]));

  return {
    name: "languages",
    resolveId: (id) => (id.startsWith(virtual) ? id : null),
    load(id) {
      if (id.endsWith(seam)) return `export const wordsIn = {${languages.map(loading).join()}};`;
      if (!id.startsWith(virtual)) return null;
      const at = languages.findIndex((language) => id === virtual + language);
      return `export default ${JSON.stringify(all.map(({ words }) => words[at]))};`;
    },
    transform(code, id) {
      const texts = found.get(id);
      if (!texts || id.endsWith(seam)) return null;
      // From the end, so that the positions of earlier texts stay valid.
      return texts.reduceRight((so, text) => so.slice(0, text.start) + numbers.get(text) + so.slice(text.end), code);
    },
  };
}

const loading = (language: string) => `${language}: () => import("${virtual}${language}")`;

/** The lists of a source that have one literal text for each language. */
function textsIn(source: string): Found[] {
  const found: Found[] = [];
  visit(parseAst(source, { lang: "ts" }), (node) => {
    if (node.type !== "ArrayExpression" || !Array.isArray(node.elements)) return;
    const words = node.elements.flatMap((one: Node) => (typeof one?.value === "string" ? [one.value] : []));
    if (words.length !== languages.length || words.length !== node.elements.length) return;
    found.push({ start: Number(node.start), end: Number(node.end), words });
  });
  return found.sort((one, other) => one.start - other.start);
}

type Node = { readonly [key: string]: unknown };

function visit(node: unknown, see: (node: Node) => void): void {
  if (Array.isArray(node)) for (const one of node) visit(one, see);
  else if (typeof node === "object" && node !== null) {
    see(node as Node);
    for (const inner of Object.values(node)) visit(inner, see);
  }
}
