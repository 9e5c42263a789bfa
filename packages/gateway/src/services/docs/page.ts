import { createHash } from "node:crypto";
import type { Components, Document, Response, Schema } from "../openapi/document.ts";
import { ownTick } from "../own_tick.ts";
import { fieldRows, fieldTable, typeOf } from "./fields.ts";
import { type Html, html, prose } from "./html.ts";
import { anchorOf, entriesOf, operationSection } from "./operation.ts";

/** A page and its content security policy, which permits its own style and script, and calls of this server alone. */
export type Page = { readonly body: string; readonly policy: string };

/**
 * The API reference as one page. Without its script it is complete, but has no search and makes no calls. Calls are served between
 * one service and the next.
 */
export async function docsPage(
  document: Document,
  { style, makesCalls }: { readonly style: string; readonly makesCalls: boolean },
): Promise<Page> {
  const sections = await services(document);
  const { html: body } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${String(document.info.title)} API reference</title><style>${{ html: style }}</style><script type="module" src="/docs/browser.js"></script></head>
<body data-calls="${makesCalls ? "here" : "elsewhere"}"><a class="skip" href="#main">Skip to the reference</a>
<nav aria-label="Reference">${navigation(document)}</nav>
<main id="main" tabindex="-1">${introduction(document)}${sections}${errors(document.components)}${types(document.components)}</main>
</body></html>`;
  const hash = createHash("sha256").update(style).digest("base64");
  return { body, policy: [...fixedPolicy, `style-src 'sha256-${hash}'`].join("; ") };
}

// The script builds the page by nodes and text, so the browser may refuse it all else.
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

function navigation(document: Document): Html {
  const groups = document.tags.map(({ name }) => {
    const links = entriesOf(document, name).map(
      (entry) => html`<li><a href="#${anchorOf(name, entry)}">${entry.name}</a></li>`,
    );
    return html`<details open><summary>${shortName(name)}</summary><ul>${links}</ul></details>`;
  });
  return html`<p class="brand"><a href="#main">${String(document.info.title)}</a></p>
<details class="menu"><summary>Operations</summary>${groups}
<details open><summary>More</summary><ul><li><a href="#errors">Errors</a></li><li><a href="#types">Types</a></li><li><a href="/openapi.json">OpenAPI 3.1</a></li></ul></details></details>`;
}

const shortName = (tag: string) => tag.replace(/Service$/, "").replace(/(?<=[a-z])(?=[A-Z])/g, " ");

function introduction({ info, components }: Document): Html {
  return html`<header><h1>${String(info.title)} API reference</h1>
<p class="lead">${prose(String(info.description))}</p>
${shellVariables(components)}
<p>The paths of gRPC and Connect take plain JSON by POST too. The same as a document for tools: <a href="/openapi.json">openapi.json</a>.</p></header>`;
}

function shellVariables({ securitySchemes: { bearer } }: Components): Html {
  const server = "export URL=http://127.0.0.1:8080";
  if (!bearer)
    return html`<p>The samples take the server and the parameters of the path from the environment:</p>
<pre tabindex="0" aria-label="Set the server"><code id="environment">${server}</code></pre>`;
  return html`<p>Callers present <code>authorization: Bearer …</code>: ${prose(inSentence(bearer.description))} The samples take the server, the token and the parameters of the path from the environment:</p>
<pre tabindex="0" aria-label="Set the server and the token"><code id="environment">${server} TOKEN=…</code></pre>`;
}

const inSentence = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

async function services(document: Document): Promise<Html[]> {
  const sections: Html[] = [];
  for (const { name, description } of document.tags) {
    const operations = entriesOf(document, name).map((entry) => operationSection(name, entry, document.components));
    sections.push(
      html`<section aria-labelledby="${name}"><h2 id="${name}">${shortName(name)}</h2><p class="lead">${prose(description)}</p>${operations}</section>`,
    );
    await ownTick();
  }
  return sections;
}

function errors({ responses, schemas }: Components): Html {
  const sections = Object.entries(responses).map(
    ([status, response]) => html`<section class="error" id="status-${status}" aria-labelledby="status-${status}-title">
<h3 id="status-${status}-title"><a href="#status-${status}">${status}</a></h3><p>${prose(response.description)}</p>${errorExample(response)}</section>`,
  );
  return html`<section aria-labelledby="errors"><h2 id="errors">Errors</h2>
<p class="lead">Every error has one body, on every path. Programs branch on the reason: it is stable.</p>
${fieldTable("Body", fieldRows(schemas.Error ?? {}), "answer")}${sections}</section>`;
}

function errorExample({ content }: Response): Html {
  const body = content["application/json"];
  if (body?.example === undefined) return html``;
  return html`<pre tabindex="0" aria-label="An error"><code>${JSON.stringify(body.example, null, 2)}</code></pre>`;
}

function types({ schemas }: Components): Html {
  const sections = Object.entries(schemas).map(
    ([name, schema]) => html`<section class="type" id="type-${name}" aria-labelledby="type-${name}-title">
<h3 id="type-${name}-title"><a href="#type-${name}">${name}</a></h3><p>${prose(schema.description ?? "")}</p>${typeBody(schema)}</section>`,
  );
  return html`<section aria-labelledby="types"><h2 id="types">Types</h2>${sections}</section>`;
}

function typeBody(schema: Schema): Html {
  const values = valuesOf(schema);
  if (values) return html`<p class="values">${values.map((value) => html`<code>${value}</code> `)}</p>`;
  if (schema.type === "object") return fieldTable("Fields", fieldRows(schema), "answer");
  return html`<p>${typeOf(schema)}</p>`;
}

/** The values of an enumeration, also of one that may grow. */
const valuesOf = (schema: Schema) => schema.enum ?? schema["x-extensible-enum"];
