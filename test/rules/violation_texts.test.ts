import type { Node } from "typescript/unstable/ast";
import {
  isNoSubstitutionTemplateLiteral,
  isObjectLiteralExpression,
  isPropertyAssignment,
  isStringLiteral,
  isTemplateExpression,
  isVariableDeclaration,
} from "typescript/unstable/ast/is";
import { afterAll, expect, test } from "vitest";
import { violationText } from "../../src/messages/catalogue.ts";
import { lineOf, nodesOf, openProgram } from "./tree.ts";

const program = openProgram(["src", "packages/gateway/src"]);
afterAll(() => program[Symbol.dispose]());

// What stands for a value: a number or a name, a noun, or a noun with its id.
const values = ["7", "project", "project 7"];

/** The English texts that a description may have, with each of the values in each place. */
function written(node: Node | undefined): string[] {
  if (!node) return [];
  if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (!isTemplateExpression(node)) return [];
  return node.templateSpans.reduce(
    (texts, { literal }) => texts.flatMap((text) => values.map((value) => text + value + literal.text)),
    [node.head.text],
  );
}

/** The descriptions of violations that a node states: beside their fields, or as a variable of that name. */
function described(node: Node): string[] {
  if (isVariableDeclaration(node) && node.name.getText() === "description") return written(node.initializer);
  if (!isPropertyAssignment(node) || node.name.getText() !== "description") return [];
  const beside = isObjectLiteralExpression(node.parent) ? node.parent.properties : [];
  const hasField = beside.some((property) => "name" in property && property.name?.getText() === "field");
  return hasField ? written(node.initializer) : [];
}

test("each violation that is described in English has a text in every other language", () => {
  const found = program.sources.flatMap(({ path, ast }) =>
    [...nodesOf(ast)].flatMap((node) => {
      const texts = described(node);
      return texts.length > 0 ? [{ at: `${path}:${lineOf(ast, node)}`, texts }] : [];
    }),
  );
  expect(found.length).toBeGreaterThan(40);
  const isKnown = (text: string) => violationText(text, "de") !== undefined;
  expect(found.filter(({ texts }) => !texts.some(isKnown)).map(({ at, texts }) => [at, texts[0]])).toEqual([]);
});
