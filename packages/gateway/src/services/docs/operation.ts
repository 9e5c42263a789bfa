import type { Components, Document, OperationObject, Parameter, Ref, Schema } from "../openapi/document.ts";
import { curlLine } from "./curl.ts";
import { fieldRows, fieldTable, parameterRows, typeOf } from "./fields.ts";
import { type Html, html, prose } from "./html.ts";

/** An operation with all its paths. */
export type Entry = {
  readonly name: string;
  readonly paths: readonly { readonly method: string; readonly path: string; readonly operation: OperationObject }[];
};

/** The operations of a service; the paths of one rpc are grouped. */
export function entriesOf({ paths }: Document, tag: string): Entry[] {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
  const own = all.filter(({ operation }) => operation.tags.includes(tag));
  const byRpc = Map.groupBy(own, ({ operation }) => operation["x-rpc"]);
  return [...byRpc].map(([rpc, paths]) => ({ name: rpc.replace(/^.*\//, ""), paths }));
}

/** The anchor of an operation's section. */
export const anchorOf = (tag: string, { name }: Entry) => `${tag}-${name}`;

/** The section of one operation. */
export function operationSection(tag: string, entry: Entry, components: Components): Html {
  const [main] = entry.paths;
  if (!main) return html``;
  const { operation } = main;
  const parameters = operation.parameters.map((one) => resolved(one, components));
  const id = anchorOf(tag, entry);
  return html`<section class="operation" id="${id}" aria-labelledby="${id}-title">
<h3 id="${id}-title"><a href="#${id}">${entry.name}</a></h3>
<ul class="paths">${entry.paths.map(({ method, path }) => html`<li><span class="verb ${method}">${method.toUpperCase()}</span> <code>${path}</code></li>`)}</ul>
<p>${prose(operation.description)}</p>
<p class="rpc">gRPC, gRPC-Web, Connect: <code>${operation["x-rpc"]}</code></p>
${parameters.length > 0 ? fieldTable("Parameters", parameterRows(parameters), "request") : html``}
${bodyTable(operation, components)}
${answerTable(operation, components)}
<p class="refusals">Refusals: ${refusalLinks(operation)}</p>
<pre tabindex="0" aria-label="Call ${entry.name} with curl"><code>${curlLine(main.method, main.path, { operation, parameters, components })}</code></pre>
</section>`;
}

const isRef = (one: Parameter | Ref): one is Ref => "$ref" in one;

function resolved(one: Parameter | Ref, { parameters }: Components): Parameter {
  if (!isRef(one)) return one;
  const parameter = parameters[one.$ref.replace(/^.*\//, "")];
  if (!parameter) throw new Error(`${one.$ref} is described nowhere`);
  return parameter;
}

function bodyTable({ requestBody }: OperationObject, components: Components): Html {
  const schema = requestBody?.content["application/json"]?.schema;
  return schema ? fieldTable("Body", fieldRows(opened(schema, components)), "request") : html``;
}

function answerTable({ responses }: OperationObject, components: Components): Html {
  const done = responses[200];
  if (!done || "$ref" in done) return html``;
  const [schema] = Object.values(done.content).map((one) => one.schema);
  if (!schema) return html``;
  if (schema.anyOf) return html`<p>Answers ${typeOf(schema.anyOf[0] ?? {})}. ${prose(done.description)}</p>`;
  return fieldTable("Answer", fieldRows(opened(schema, components)), "answer");
}

const opened = (schema: Schema, { schemas }: Components): Schema =>
  schema.$ref ? (schemas[schema.$ref.replace(/^.*\//, "")] ?? {}) : schema;

function refusalLinks({ responses }: OperationObject): Html[] {
  return Object.keys(responses)
    .filter((status) => status !== "200")
    .map((status) => html`<a href="#status-${status}">${status}</a> `);
}
