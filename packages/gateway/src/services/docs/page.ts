import { createHash } from "node:crypto";
import type { Components, Document, Schema } from "../openapi/document.ts";
import { fieldRows, fieldTable, typeOf } from "./fields.ts";
import { type Html, html, prose } from "./html.ts";
import { anchorOf, entriesOf, operationSection } from "./operation.ts";

/** A page and its content security policy, which permits only its own style. */
export type Page = { readonly body: string; readonly policy: string };

/** The API reference as one page without scripts or other files. */
export function docsPage(document: Document, style: string): Page {
  const { html: body } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${String(document.info.title)} API reference</title><style>${{ html: style }}</style></head>
<body><a class="skip" href="#main">Skip to the reference</a>
<nav aria-label="Operations">${navigation(document)}</nav>
<main id="main" tabindex="-1">${introduction(document)}${services(document)}${refusals(document.components)}${types(document.components)}</main>
</body></html>`;
  const hash = createHash("sha256").update(style).digest("base64");
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  return { body, policy };
}

function navigation(document: Document): Html {
  const groups = document.tags.map(({ name }) => {
    const links = entriesOf(document, name).map(
      (entry) => html`<li><a href="#${anchorOf(name, entry)}">${entry.name}</a></li>`,
    );
    return html`<details open><summary>${shortName(name)}</summary><ul>${links}</ul></details>`;
  });
  return html`<p class="brand"><a href="#main">${String(document.info.title)}</a></p>${groups}
<details open><summary>More</summary><ul><li><a href="#refusals">Refusals</a></li><li><a href="#types">Types</a></li><li><a href="/openapi.json">OpenAPI 3.1</a></li></ul></details>`;
}

const shortName = (tag: string) => tag.replace(/Service$/, "").replace(/(?<=[a-z])(?=[A-Z])/g, " ");

function introduction({ info, components }: Document): Html {
  return html`<header><h1>${String(info.title)} API reference</h1>
<p class="lead">${prose(String(info.description))}</p>
${shellVariables(components)}
<p>The paths of gRPC and Connect take plain JSON by POST too. The same as a document for tools: <a href="/openapi.json">openapi.json</a>.</p></header>`;
}

function shellVariables({ securitySchemes: { bearer } }: Components): Html {
  if (!bearer)
    return html`<p>The curl lines take the server from the shell:</p>
<pre tabindex="0" aria-label="Set the server"><code>export URL=http://127.0.0.1:8080</code></pre>`;
  return html`<p>Callers present <code>authorization: Bearer …</code>: ${prose(inSentence(bearer.description))} The curl lines take the server and the token from the shell:</p>
<pre tabindex="0" aria-label="Set the server and the token"><code>export URL=http://127.0.0.1:8080 TOKEN=…</code></pre>`;
}

const inSentence = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

function services(document: Document): Html[] {
  return document.tags.map(({ name, description }) => {
    const operations = entriesOf(document, name).map((entry) => operationSection(name, entry, document.components));
    return html`<section aria-labelledby="${name}"><h2 id="${name}">${shortName(name)}</h2><p class="lead">${prose(description)}</p>${operations}</section>`;
  });
}

function refusals({ responses, schemas }: Components): Html {
  const rows = Object.entries(responses).map(
    ([status, { description }]) =>
      html`<tr id="status-${status}"><th scope="row">${status}</th><td>${prose(description)}</td></tr>`,
  );
  return html`<section aria-labelledby="refusals"><h2 id="refusals">Refusals</h2>
<p class="lead">Every refusal has one body, on every path.</p>${fieldTable("Body", fieldRows(schemas.Error ?? {}), "answer")}
<div class="scroll"><table><caption>By HTTP status</caption><thead><tr><th scope="col">Status</th><th scope="col">Reasons</th></tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function types({ schemas }: Components): Html {
  const sections = Object.entries(schemas).map(
    ([name, schema]) => html`<section class="type" id="type-${name}" aria-labelledby="type-${name}-title">
<h3 id="type-${name}-title"><a href="#type-${name}">${name}</a></h3><p>${prose(schema.description ?? "")}</p>${typeBody(schema)}</section>`,
  );
  return html`<section aria-labelledby="types"><h2 id="types">Types</h2>${sections}</section>`;
}

function typeBody(schema: Schema): Html {
  const values = schema.enum ?? schema["x-extensible-enum"];
  if (values) return html`<p class="values">${values.map((value) => html`<code>${value}</code> `)}</p>`;
  if (schema.type === "object") return fieldTable("Fields", fieldRows(schema), "answer");
  return html`<p>${typeOf(schema)}</p>`;
}
