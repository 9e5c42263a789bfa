import type { Components, Response } from "../openapi/document.ts";
import { fieldRows, fieldTable } from "./fields.ts";
import { type Content, type Html, html, prose } from "./html.ts";

/** The page about errors: their body, and the meaning of each status. */
export function errorsPage({ responses, schemas }: Components): Content {
  const sections = Object.entries(responses).map(
    ([status, response]) => html`<section class="error" id="status-${status}" aria-labelledby="status-${status}-title">
<h2 id="status-${status}-title"><a href="#status-${status}">${status}</a></h2><p>${prose(response.description)}</p>${errorExample(response)}</section>`,
  );
  const main = html`<h1>Errors</h1>
<p class="lead">Every error has the same body, on every path. Programs branch on the reason: it is stable.</p>
${fieldTable("Body", fieldRows(schemas.Error ?? {}), "answer")}${sections}`;
  return { title: "Errors", main };
}

function errorExample({ content }: Response): Html {
  const body = content["application/json"];
  if (body?.example === undefined) return html``;
  return html`<pre tabindex="0" aria-label="An error"><code>${JSON.stringify(body.example, null, 2)}</code></pre>`;
}
