import type { Components, Document } from "../openapi/document.ts";
import { type Content, type Html, html, prose } from "./html.ts";
import { anchorOf, type Entry, type Group, pathList } from "./operation.ts";
import { pathsIn } from "./paths.ts";

/** The readable name of a service: `User Grant` for `UserGrantService`. */
export const shortName = (tag: string) => tag.replace(/Service$/, "").replace(/(?<=[a-z])(?=[A-Z])/g, " ");

/**
 * The first page: how to call the API, and every operation with a link to its page. Links from when the reference was a single page name
 * anchors here; the script redirects them to the right page.
 */
export function overviewPage({ info, components }: Document, groups: readonly Group[]): Content {
  const main = html`<header><h1>${String(info.title)} API reference</h1>
<p class="lead">${prose(String(info.description))}</p>
${shellVariables(components)}
<p>You can also send JSON by POST to the gRPC and Connect paths. Every <a id="errors" href="${pathsIn.errors}">error</a> has the same body. <a id="types" href="${pathsIn.types}">Types</a> lists the messages. The same reference for tools: <a href="/openapi.json">openapi.json</a>.</p></header>
${groups.map(groupSection)}`;
  return { title: "Overview", main };
}

function groupSection({ tag, name, description, entries }: Group): Html {
  return html`<section aria-labelledby="${tag}"><h2 id="${tag}">${name}</h2><p class="lead">${prose(description)}</p>
<ul class="operations">${entries.map((entry) => operationItem(tag, entry))}</ul></section>`;
}

const operationItem = (tag: string, entry: Entry) => html`<li id="${anchorOf(tag, entry)}">
<a href="${pathsIn.operation(tag, entry)}">${entry.name}</a> ${prose(entry.paths[0]?.operation.summary ?? "")}
${pathList(entry)}</li>`;

function shellVariables({ securitySchemes: { bearer } }: Components): Html {
  const server = "export URL=http://127.0.0.1:8080";
  if (!bearer)
    return html`<p>The samples take the server and the path parameters from environment variables:</p>
<pre tabindex="0" aria-label="Set the server"><code id="environment">${server}</code></pre>`;
  return html`<p>Callers present <code>authorization: Bearer …</code>: ${prose(inSentence(bearer.description))} The samples take the server, the token and the path parameters from environment variables:</p>
<pre tabindex="0" aria-label="Set the server and the token"><code id="environment">${server} TOKEN=…</code></pre>`;
}

const inSentence = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
