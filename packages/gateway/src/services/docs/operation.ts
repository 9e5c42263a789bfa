import type { Components, Document, OperationObject, Schema } from "../openapi/document.ts";
import { type Called, calledAt, jsonText, type Placed } from "./called.ts";
import { responseExample } from "./example.ts";
import { fieldRows, fieldTable, parameterRows, typeOf } from "./fields.ts";
import { type Html, html, prose } from "./html.ts";
import { samplesOf } from "./samples.ts";

/** An operation with all its paths. */
export type Entry = { readonly name: string; readonly paths: readonly Placed[] };

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
  const called = calledAt(main, components);
  const { parameters } = called;
  const id = anchorOf(tag, entry);
  return html`<section class="operation" id="${id}" aria-labelledby="${id}-title" data-call="${JSON.stringify(formOf(called))}">
<h3 id="${id}-title"><a href="#${id}">${entry.name}</a></h3>
<ul class="paths">${entry.paths.map(({ method, path }) => html`<li><span class="verb ${method}">${method.toUpperCase()}</span> <code>${path}</code></li>`)}</ul>
<p>${prose(operation.description)}</p>
<p class="rpc">gRPC, gRPC-Web, Connect: <code>${operation["x-rpc"]}</code></p>
${parameters.length > 0 ? fieldTable("Parameters", parameterRows(parameters), "request") : html``}
${bodyTable(operation, components)}
${samples(id, called)}
${answerTable(operation, components)}
${answerExample(id, operation, components)}
<p class="refusals">Errors: ${refusalLinks(operation)}</p>
</section>`;
}

/** The call as the script of the page makes it. */
function formOf({ verb, path, needsToken, parameters, body }: Called) {
  const fields = parameters.map(({ name, in: where, required }) => ({ name, in: where, required }));
  return { verb, path, needsToken, parameters: fields, ...(body !== undefined && { body: jsonText(body) }) };
}

function samples(id: string, called: Called): Html {
  const shown = samplesOf(called).map(
    (
      { language, code },
      index,
    ) => html`<details name="${id}-samples" data-language="${language}"${{ html: index === 0 ? " open" : "" }}>
<summary>${language}</summary><pre tabindex="0" aria-label="The call in ${language}"><code>${code}</code></pre></details>`,
  );
  return html`<div class="samples">${shown}</div>`;
}

function answerExample(id: string, { responses }: OperationObject, components: Components): Html {
  const done = responses[200];
  const example = done && !("$ref" in done) ? responseExample(done.content, components) : undefined;
  if (example === undefined) return html``;
  return html`<details class="example"><summary>The response by example</summary>
<pre tabindex="0" aria-label="A response" id="${id}-response"><code>${JSON.stringify(example, null, 2)}</code></pre></details>`;
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
  if (schema.anyOf) return html`<p>Responds with ${typeOf(schema.anyOf[0] ?? {})}. ${prose(done.description)}</p>`;
  return fieldTable("Response", fieldRows(opened(schema, components)), "answer");
}

const opened = (schema: Schema, { schemas }: Components): Schema =>
  schema.$ref ? (schemas[schema.$ref.replace(/^.*\//, "")] ?? {}) : schema;

function refusalLinks({ responses }: OperationObject): Html[] {
  return Object.keys(responses)
    .filter((status) => status !== "200")
    .map((status) => html`<a href="#status-${status}">${status}</a> `);
}
