import type { Components, OperationObject, Parameter, Schema } from "../openapi/document.ts";

/** A shell command that calls an operation with its required fields. */
export function curlLine(method: string, path: string, { operation, parameters, components }: CalledOperation): string {
  const query = parameters
    .filter((one) => one.in === "query" && one.required)
    .map(({ name }) => `${name}=\${${shell(name)}}`);
  const target = path.replace(/\{([^}]+)\}/g, (_all, name: string) => `\${${shell(name)}}`);
  const body = operation.requestBody?.content["application/json"]?.schema;
  return [
    `curl -X ${method.toUpperCase()} "\${URL}${target}${query.length > 0 ? `?${query.join("&")}` : ""}"`,
    ...(operation.security.length > 0 ? [`-H "authorization: Bearer \${TOKEN}"`] : []),
    ...(body ? ["-H 'content-type: application/json'", `-d '${JSON.stringify(example(body, components))}'`] : []),
  ].join(" \\\n  ");
}

/** An operation with its resolved parameters. */
export type CalledOperation = {
  readonly operation: OperationObject;
  readonly parameters: readonly Parameter[];
  readonly components: Components;
};

const shell = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])|\./g, "_").toUpperCase();

/** The smallest value that a schema allows, for people to change. */
export function example(schema: Schema, components: Components): unknown {
  if (schema.$ref) return example(components.schemas[schema.$ref.replace(/^.*\//, "")] ?? {}, components);
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case "object": {
      const required = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name));
      return Object.fromEntries(required.map(([name, one]) => [name, example(one, components)]));
    }
    case "array":
      return schema.items && schema.minItems ? [example(schema.items, components)] : [];
    case "boolean":
      return false;
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    default:
      return textLike(schema);
  }
}

function textLike({ format, pattern }: Schema): string {
  if (format === "email") return "ada@example.com";
  if (format === "date-time") return "2030-01-01T00:00:00Z";
  return pattern?.endsWith("s$") ? "3600s" : "…";
}
