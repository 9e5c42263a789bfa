import type { Components, Document, OperationObject, Schema } from "../openapi/document.ts";
import { calledAt } from "./called.ts";
import { answerSchema, bodySchema, type Entry, type Group } from "./operation.ts";
import { pathsIn } from "./paths.ts";
import { valuesOf } from "./type_pages.ts";

/** A page as listed in search results. */
export type Hit = {
  readonly href: string;
  readonly title: string;
  /** Shown below the title; for an operation, its path. */
  readonly note: string;
  /** The words of the page, in lower case. */
  readonly words: string;
};

/** Everything that the search covers. */
export function searchIndex({ components }: Document, groups: readonly Group[]): Hit[] {
  const { responses, schemas } = components;
  return [
    ...groups.flatMap(({ tag, entries }) => entries.map((entry) => operationHit(tag, entry, components))),
    ...Object.entries(responses).map(([status, { description }]) =>
      hit({ href: `${pathsIn.errors}#status-${status}`, title: status, note: "" }, [description]),
    ),
    ...Object.entries(schemas).map(([name, schema]) =>
      hit({ href: pathsIn.type(name), title: name, note: "" }, [
        schema.description,
        ...fieldWords(schema),
        ...(valuesOf(schema) ?? []),
      ]),
    ),
  ];
}

const hit = (shown: Omit<Hit, "words">, words: readonly (string | undefined)[]): Hit => ({
  ...shown,
  words: [...new Set([shown.title, shown.note, ...words].join(" ").toLowerCase().split(/\s+/))].join(" ").trim(),
});

function operationHit(tag: string, entry: Entry, components: Components): Hit {
  const [main] = entry.paths;
  const shown = { href: pathsIn.operation(tag, entry), title: entry.name, note: main?.path ?? "" };
  if (!main) return hit(shown, []);
  const { operation } = main;
  return hit(shown, [
    ...[tag, operation.description, operation["x-rpc"], ...entry.paths.map(({ path }) => path)],
    ...calledAt(main, components).parameters.flatMap(({ name, description }) => [name, description]),
    ...messageWords(operation, components),
  ]);
}

const messageWords = (operation: OperationObject, components: Components) =>
  [bodySchema(operation, components), answerSchema(operation, components)].flatMap((schema) =>
    schema ? fieldWords(schema) : [],
  );

const fieldWords = ({ properties = {} }: Schema) =>
  Object.entries(properties).flatMap(([name, { description }]) => [name, description]);
