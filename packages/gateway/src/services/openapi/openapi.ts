import { comments } from "../../../../../gen/comments.ts";
import type { Operations } from "../../rpc/operations.ts";
import { errorSchemas, headers, refusals } from "./answers.ts";
import type { Document, PathItem } from "./document.ts";
import { type Described, describeOperation, sharedParameters } from "./operations.ts";
import { schemas } from "./schemas.ts";

/** Describes every operation as OpenAPI 3.1, from the descriptors alone. */
export function openapi(operations: Operations): Document {
  const all = [...operations.values()];
  const types = schemas(all.map(({ method }) => method.output));
  const described = all.flatMap((operation) => describeOperation(operation, types));
  const services = new Set(all.map(({ method }) => method.parent));
  return {
    openapi: "3.1.0",
    info: {
      title: "Postern",
      version: "v1",
      summary: "Identity management with every door open.",
      description,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: [...services].map(({ name, typeName }) => ({ name, description: comments[typeName] ?? "" })),
    paths: pathsOf(described),
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "A session token or an access token." },
      },
      parameters: sharedParameters,
      headers,
      responses: refusals(),
      schemas: { ...errorSchemas(types), ...types.all() },
    },
  };
}

const description = [
  "Every operation answers gRPC, gRPC-Web, Connect and plain JSON on one port, with the same effect, answer and refusal.",
  "JSON is proto3 JSON: names in lowerCamelCase, 64-bit numbers as text, times by RFC 3339, durations such as `5s`.",
  "Fields that the contract does not know are refused with their path.",
].join(" ");

function pathsOf(described: readonly Described[]): Record<string, PathItem> {
  const paths: Record<string, Record<string, Described["object"]>> = {};
  for (const { path, method, object } of described) paths[path] = { ...paths[path], [method]: object };
  return paths;
}
