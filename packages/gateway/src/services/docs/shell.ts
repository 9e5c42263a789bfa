import { type Content, type Html, html } from "./html.ts";
import type { Group } from "./operation.ts";
import { filesIn, pathsIn } from "./paths.ts";

type Frame = {
  /** The name of the API. */
  readonly title: string;
  readonly groups: readonly Group[];
  readonly style: string;
  readonly makesCalls: boolean;
};

/** Makes the frame around the content of each page: head, navigation, style and script. */
export const shell =
  ({ title, groups, style, makesCalls }: Frame) =>
  (path: string, content: Content): Html =>
    html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${content.title} · ${title} API reference</title><style>${{ html: style }}</style><script type="module" src="${filesIn.script}"></script></head>
<body data-calls="${makesCalls ? "here" : "elsewhere"}"><a class="skip" href="#main">Skip to the content</a>
<nav aria-label="Reference"><p class="brand"><a href="${pathsIn.overview}">${title}</a></p>
<details class="menu"><summary>Operations</summary>${groups.map((group) => groupLinks(group, path))}
<details open><summary>More</summary><ul>${more.map((one) => html`<li>${link(one, path)}</li>`)}</ul></details></details></nav>
<main id="main" tabindex="-1">${content.main}</main>
</body></html>`;

const more = [
  { href: pathsIn.errors, name: "Errors" },
  { href: pathsIn.types, name: "Types" },
  { href: "/openapi.json", name: "OpenAPI 3.1" },
];

function groupLinks({ tag, name, entries }: Group, path: string): Html {
  const links = entries.map((entry) => ({ href: pathsIn.operation(tag, entry), name: entry.name }));
  const isOpen = path === pathsIn.overview || links.some(({ href }) => href === path);
  return html`<details${{ html: isOpen ? " open" : "" }}><summary>${name}</summary><ul>${links.map((one) => html`<li>${link(one, path)}</li>`)}</ul></details>`;
}

const link = ({ href, name }: { readonly href: string; readonly name: string }, path: string) =>
  html`<a href="${href}"${{ html: href === path ? ' aria-current="page"' : "" }}>${name}</a>`;
