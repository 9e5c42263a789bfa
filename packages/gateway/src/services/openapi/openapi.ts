import { ownTick } from "../own_tick.ts";
import { errorSchemas, refusals, sharedHeaders } from "./answers.ts";
import type { Document, PathItem } from "./document.ts";
import { type DescribedOperation, describeMethod } from "./operations.ts";
import type { ApiOptions } from "./options.ts";
import { schemas } from "./schemas.ts";
import { wellKnownTexts } from "./well_known_texts.ts";

/** Describes every rpc as OpenAPI 3.1, using only the descriptors. Between one rpc and the next, calls are served. */
export async function openapi(options: ApiOptions): Promise<Document> {
  const { info, methods, parameters, bearer } = options;
  const comments = { ...wellKnownTexts, ...options.comments };
  const types = schemas(
    methods.map(({ output }) => output),
    { ...options, comments },
  );
  const described: DescribedOperation[] = [];
  for (const method of methods) {
    described.push(...describeMethod(method, types, options));
    await ownTick();
  }
  const statuses = new Set(described.flatMap(({ object }) => Object.keys(object.responses)));
  const services = new Set(methods.map(({ parent }) => parent));
  return {
    openapi: "3.1.0",
    info,
    servers: [{ url: "/" }],
    tags: [...services].map(({ name, typeName }) => ({ name, description: comments[typeName] ?? "" })),
    paths: pathsOf(described),
    components: {
      securitySchemes: bearer === undefined ? {} : { bearer: { type: "http", scheme: "bearer", description: bearer } },
      parameters,
      headers: sharedHeaders(options),
      responses: refusals(options, (status) => statuses.has(status)),
      schemas: { ...errorSchemas(types, options), ...types.all() },
    },
  };
}

function pathsOf(described: readonly DescribedOperation[]): Record<string, PathItem> {
  const paths: Record<string, Record<string, DescribedOperation["object"]>> = {};
  for (const { path, method, object } of described) paths[path] = { ...paths[path], [method]: object };
  return paths;
}
