import type { Parameter, Schema } from "../openapi/document.ts";
import { type Html, html, prose } from "./html.ts";
import { pathsIn } from "./paths.ts";

/** A row of a table of fields. */
export type Row = { readonly name: string; readonly note: string; readonly needed: boolean; readonly schema: Schema };

/** The fields of an object. */
export const fieldRows = ({ properties = {}, required = [] }: Schema): Row[] =>
  Object.entries(properties).map(([name, schema]) => ({ name, note: "", needed: required.includes(name), schema }));

/** The parameters of an operation. */
export const parameterRows = (parameters: readonly Parameter[]): Row[] =>
  parameters.map(({ name, in: where, required, schema, description }) => ({
    name,
    note: where,
    needed: required,
    schema: description === undefined ? schema : { ...schema, description },
  }));

/** A table of fields with a caption, or a sentence if there are none. */
export function fieldTable(caption: string, rows: readonly Row[], direction: "request" | "answer"): Html {
  if (rows.length === 0) return html`<p class="none"><b>${caption}</b> without fields</p>`;
  return html`<div class="scroll"><table><caption>${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows.map((row) => fieldRow(row, direction))}</tbody></table></div>`;
}

function fieldRow({ name, note, needed, schema }: Row, direction: "request" | "answer"): Html {
  const mark = direction === "request" && needed ? html` <span class="need">required</span>` : html``;
  const where = note === "" ? html`` : html` <span class="where">${note}</span>`;
  const limits = limitsOf(schema);
  const bounds = limits.length === 0 ? html`` : html`<span class="limits">${limits.join(" · ")}</span>`;
  return html`<tr><th scope="row"><code>${name}</code>${where}${mark}</th><td>${typeOf(schema)}</td>
<td>${prose(schema.description ?? "")} ${bounds}</td></tr>`;
}

/** The type of a value, as a link if the type has a page of its own. */
export function typeOf(schema: Schema): Html {
  if (schema.$ref) return link(schema.$ref);
  if (schema.items) return html`list of ${typeOf(schema.items)}`;
  if (typeof schema.additionalProperties === "object") return html`map of ${typeOf(schema.additionalProperties)}`;
  if (schema.anyOf) return html`${schema.anyOf.map((one, index) => html`${index > 0 ? " or " : ""}${typeOf(one)}`)}`;
  return html`${words(schema)}`;
}

function link(ref: string): Html {
  const name = ref.replace(/^.*\//, "");
  return html`<a href="${pathsIn.type(name)}">${name}</a>`;
}

function words({ type = "any", format, pattern }: Schema): string {
  if (format === "date-time") return "time";
  if (type === "string" && pattern?.endsWith("s$")) return "duration";
  return format && format !== "email" ? `${type} (${format})` : type;
}

function limitsOf(schema: Schema): string[] {
  const { items, default: fallback } = schema;
  const shown = fallback === undefined ? [] : [`default ${fallback}`];
  const each = items ? bounds(items).map((one) => `each ${one}`) : [];
  return [...bounds(schema), ...each, ...shown];
}

function bounds(schema: Schema): string[] {
  const { pattern, type, enum: allowed, format } = schema;
  const odd =
    pattern && type === "string" && !pattern.endsWith("s$") && format !== "uint64" ? [`matches ${pattern}`] : [];
  return [
    ...range(schema.minLength, schema.maxLength, "characters"),
    ...range(schema.minItems, schema.maxItems, "items"),
    ...range(schema.minimum, schema.maximum, ""),
    ...(allowed ? [`one of ${allowed.join(", ")}`] : []),
    ...(format === "email" ? ["an e-mail address"] : []),
    ...odd,
  ];
}

function range(min: number | undefined, max: number | undefined, unit: string): string[] {
  if (min === undefined && max === undefined) return [];
  const units = (max ?? min) === 1 ? unit.replace(/s$/, "") : unit;
  if (min === undefined) return [`at most ${max} ${units}`.trim()];
  return [max === undefined ? `at least ${min} ${units}`.trim() : `${min} to ${max} ${units}`.trim()];
}
