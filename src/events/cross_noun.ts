import type { Fold } from "./fold.ts";

/**
 * The types of facts whose folds change or delete rows inserted by facts about other nouns, as deleting a user deletes its factors. Their
 * order relative to those facts matters, although the facts are about different objects.
 */
export function crossNounTypes(folds: ReadonlyMap<string, Fold>): ReadonlySet<string> {
  const inserted = new Map<string, Set<string>>();
  for (const [type, { views = [] }] of folds)
    for (const table of tablesIn(views, inserting))
      inserted.set(table, (inserted.get(table) ?? new Set()).add(nounOf(type)));
  const reaches = ([type, { views = [] }]: readonly [string, Fold]) =>
    tablesIn(views, changing).some((table) => [...(inserted.get(table) ?? [])].some((noun) => noun !== nounOf(type)));
  return new Set([...folds].filter(reaches).map(([type]) => type));
}

const inserting = /\binsert\s+into\s+(\w+)/g;
const changing = /\b(?:delete\s+from|update(?!\s+set\b))\s+(\w+)/g;

const tablesIn = (texts: readonly string[], writing: RegExp): readonly string[] =>
  texts.flatMap((text) => [...text.matchAll(writing)].map(([, table = ""]) => table.replace(/^all_/, "")));

const nounOf = (type: string): string => type.split(".")[0] ?? type;
