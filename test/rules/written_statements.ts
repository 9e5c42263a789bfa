import type { Node, ObjectLiteralExpression } from "typescript/unstable/ast";
import {
  isNoSubstitutionTemplateLiteral,
  isObjectLiteralExpression,
  isPropertyAssignment,
  isStringLiteral,
  isTaggedTemplateExpression,
  isTemplateExpression,
} from "typescript/unstable/ast/is";

/** A text with single blanks. */
export const words = (text: string): string => text.replace(/\s+/g, " ").trim();

/** The parts of a statement that are written in the code: a template of `sql`, and what a shared read asks. */
export function piecesOf(node: Node): string[] {
  if (isTaggedTemplateExpression(node) && /^sql\b/.test(node.tag.getText())) return textsIn(node.template);
  return isQuestion(node)
    ? node.properties.filter(isPropertyAssignment).flatMap((one) => textsIn(one.initializer))
    : [];
}

const isQuestion = (node: Node): node is ObjectLiteralExpression =>
  isObjectLiteralExpression(node) &&
  node.properties.map((one) => isPropertyAssignment(one) && one.name.getText()).join() === "asked,select";

function textsIn(template: Node): string[] {
  if (isNoSubstitutionTemplateLiteral(template) || isStringLiteral(template)) return [words(template.text)];
  if (!isTemplateExpression(template)) return [];
  return [template.head, ...template.templateSpans.map(({ literal }) => literal)].map(({ text }) => words(text));
}
