import type { Components, Schema } from "../openapi/document.ts";
import { fieldRows, fieldTable, typeOf } from "./fields.ts";
import { type Content, type Html, html, prose } from "./html.ts";
import { pathsIn } from "./paths.ts";

/** The page that lists all types. */
export function typesPage({ schemas }: Components): Content {
  const links = Object.keys(schemas)
    .toSorted()
    .map((name) => html`<li><a href="${pathsIn.type(name)}">${name}</a></li>`);
  return { title: "Types", main: html`<h1>Types</h1><ul class="types">${links}</ul>` };
}

/** The page of one type. */
export function typePage(name: string, schema: Schema): Content {
  const main = html`<p class="way"><a href="${pathsIn.types}">Types</a></p>
<section class="type" aria-labelledby="title"><h1 id="title">${name}</h1><p>${prose(schema.description ?? "")}</p>${typeBody(schema)}</section>`;
  return { title: name, main };
}

function typeBody(schema: Schema): Html {
  const values = valuesOf(schema);
  if (values) return html`<p class="values">${values.map((value) => html`<code>${value}</code> `)}</p>`;
  if (schema.type === "object") return fieldTable("Fields", fieldRows(schema), "answer");
  return html`<p>${typeOf(schema)}</p>`;
}

/** The values of an enumeration, including an extensible one. */
export const valuesOf = (schema: Schema) => schema.enum ?? schema["x-extensible-enum"];
