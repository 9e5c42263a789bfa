import { createHash } from "node:crypto";
import type { Document } from "../openapi/document.ts";
import { errorsPage } from "./errors_page.ts";
import type { Content, Html } from "./html.ts";
import { entriesOf, type Group, operationPage } from "./operation.ts";
import { overviewPage, shortName } from "./overview.ts";
import { pathsIn } from "./paths.ts";
import { searchIndex } from "./search.ts";
import { shell } from "./shell.ts";
import { typePage, typesPage } from "./type_pages.ts";

/** The API reference as pages, each made on request. */
export type Site = {
  /** The page at a path; undefined if there is none. */
  readonly pageAt: (path: string) => string | undefined;
  /** The content security policy of every page, which permits only our own style and script, and calls to this server. */
  readonly policy: string;
  /** The search index of the pages, as JSON. */
  readonly searchIndex: () => string;
};

export type SiteOptions = { readonly style: string; readonly makesCalls: boolean };

/** Makes the pages of a document. Without the script they are complete, but cannot search or make calls. */
export function docsSite(document: Document, { style, makesCalls }: SiteOptions): Site {
  const groups: readonly Group[] = document.tags.map(({ name, description }) => ({
    ...{ tag: name, name: shortName(name), description },
    entries: entriesOf(document, name),
  }));
  const contents = contentsOf(document, groups);
  const frame = shell({ title: String(document.info.title), groups, style, makesCalls });
  const hash = createHash("sha256").update(style).digest("base64");
  return {
    pageAt(path) {
      const content = contents.get(path)?.();
      return content && written(frame(path, content));
    },
    policy: [...fixedPolicy, `style-src 'sha256-${hash}'`].join("; "),
    searchIndex: () => JSON.stringify(searchIndex(document, groups)),
  };
}

const written = ({ html }: Html) => `${html}\n`;

function contentsOf(document: Document, groups: readonly Group[]): ReadonlyMap<string, () => Content> {
  const { components } = document;
  const operations = groups.flatMap((group) =>
    group.entries.map(
      (entry) => [pathsIn.operation(group.tag, entry), () => operationPage(group, entry, components)] as const,
    ),
  );
  const types = Object.entries(components.schemas).map(
    ([name, schema]) => [pathsIn.type(name), () => typePage(name, schema)] as const,
  );
  return new Map<string, () => Content>([
    ...operations,
    ...types,
    [pathsIn.overview, () => overviewPage(document, groups)],
    [pathsIn.errors, () => errorsPage(components)],
    [pathsIn.types, () => typesPage(components)],
  ]);
}

// The script builds its parts from nodes and text, so the browser may refuse everything else.
const fixedPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];
