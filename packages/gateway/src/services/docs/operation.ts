import type { Components, Document, OperationObject, Schema } from "../openapi/document.ts";
import { type Called, calledAt, jsonText, type Placed } from "./called.ts";
import { responseExample } from "./example.ts";
import { fieldRows, fieldTable, parameterRows, typeOf } from "./fields.ts";
import { type Content, type Html, html, prose } from "./html.ts";
import { pathsIn } from "./paths.ts";
import { samplesOf } from "./samples.ts";

/** An operation with all its paths. */
export type Entry = { readonly name: string; readonly paths: readonly Placed[] };

/** The operations of a service, under its readable name. */
export type Group = {
  readonly tag: string;
  readonly name: string;
  readonly description: string;
  readonly entries: readonly Entry[];
};

/** The operations of a service, with all paths of an rpc grouped. */
export function entriesOf({ paths }: Document, tag: string): Entry[] {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
  const own = all.filter(({ operation }) => operation.tags.includes(tag));
  const byRpc = Map.groupBy(own, ({ operation }) => operation["x-rpc"]);
  return [...byRpc].map(([rpc, paths]) => ({ name: rpc.replace(/^.*\//, ""), paths }));
}

/** The id of an operation. */
export const anchorOf = (tag: string, { name }: Entry) => `${tag}-${name}`;

/** The methods and paths of an operation. */
export const pathList = ({ paths }: Entry) =>
  html`<ul class="paths">${paths.map(({ method, path }) => html`<li><span class="verb ${method}">${method.toUpperCase()}</span> <code>${path}</code></li>`)}</ul>`;

/** The page of one operation. */
export function operationPage({ tag, name }: Group, entry: Entry, components: Components): Content {
  const [main] = entry.paths;
  const title = `${entry.name} · ${name}`;
  if (!main) return { title, main: html`` };
  const section = operationSection(anchorOf(tag, entry), { entry, main }, components);
  return { title, main: html`<p class="way"><a href="${pathsIn.overview}#${tag}">${name}</a></p>${section}` };
}

type Shown = { readonly entry: Entry; readonly main: Placed };

function operationSection(id: string, { entry, main }: Shown, components: Components): Html {
  const { operation } = main;
  const called = calledAt(main, components);
  const { parameters } = called;
  return html`<section class="operation" id="${id}" aria-labelledby="${id}-title" data-call="${JSON.stringify(formOf(called))}">
<h1 id="${id}-title">${entry.name}</h1>
${pathList(entry)}
<p>${prose(operation.description)}</p>
<p class="rpc">gRPC, gRPC-Web, Connect: <code>${operation["x-rpc"]}</code></p>
${parameters.length > 0 ? fieldTable("Parameters", parameterRows(parameters), "request") : html``}
${bodyTable(operation, components)}
${samples(id, called)}
<p class="none">The samples read <a href="${pathsIn.overview}#environment">environment variables</a>.</p>
${answerTable(operation, components)}
${answerExample(id, operation, components)}
<p class="refusals">Errors: ${refusalLinks(operation)}</p>
</section>`;
}

/** The call as made by the page's script. */
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

function bodyTable(operation: OperationObject, components: Components): Html {
  const schema = bodySchema(operation, components);
  return schema ? fieldTable("Body", fieldRows(schema), "request") : html``;
}

function answerTable(operation: OperationObject, components: Components): Html {
  const done = operation.responses[200];
  const schema = answerSchema(operation, components);
  if (!done || "$ref" in done || !schema) return html``;
  if (schema.anyOf) return html`<p>Responds with ${typeOf(schema.anyOf[0] ?? {})}. ${prose(done.description)}</p>`;
  return fieldTable("Response", fieldRows(schema), "answer");
}

/** The schema of a request body; undefined if there is none. */
export function bodySchema({ requestBody }: OperationObject, components: Components): Schema | undefined {
  const schema = requestBody?.content["application/json"]?.schema;
  return schema && opened(schema, components);
}

/** The schema of a response; undefined if the document describes none. */
export function answerSchema({ responses }: OperationObject, components: Components): Schema | undefined {
  const done = responses[200];
  const [body] = done && !("$ref" in done) ? Object.values(done.content) : [];
  return body && opened(body.schema, components);
}

const opened = (schema: Schema, { schemas }: Components): Schema =>
  schema.$ref ? (schemas[schema.$ref.replace(/^.*\//, "")] ?? {}) : schema;

function refusalLinks({ responses }: OperationObject): Html[] {
  return Object.keys(responses)
    .filter((status) => status !== "200")
    .map((status) => html`<a href="${pathsIn.errors}#status-${status}">${status}</a> `);
}
