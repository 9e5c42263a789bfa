import type { JsonValue } from "@bufbuild/protobuf";

/** A JSON Schema, to the extent that the contract needs. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  /** The name that generators give the type of an inline schema. */
  readonly title?: string;
  readonly description?: string;
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  /** The known values of a text that may have others. */
  readonly "x-extensible-enum"?: readonly string[];
  readonly default?: string | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly unevaluatedProperties?: boolean;
  readonly anyOf?: readonly Schema[];
};

/** A reference to a component of the document. */
export type Ref = { readonly $ref: string };

/** A value in the path, the query or a header. */
export type Parameter = {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: JsonValue;
};

/** A header of a response. */
export type Header = { readonly description: string; readonly schema: Schema };

/** A body by content type. */
export type Content = Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>;

/** A response of an operation. */
export type Response = {
  readonly description: string;
  readonly headers: Readonly<Record<string, Ref | Header>>;
  readonly content: Content;
};

/** An operation: one REST path of an rpc. */
export type OperationObject = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly (Parameter | Ref)[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Response | Ref>>;
  /** The same operation for gRPC, gRPC-Web and Connect. */
  readonly "x-rpc": string;
  /** The request field that the body stands for, if it is a single one. */
  readonly "x-body-field"?: string;
  readonly "x-permission"?: string;
};

/** The operations of a path by method, in lower case. */
export type PathItem = Readonly<Record<string, OperationObject>>;

/** How callers authenticate. */
export type SecurityScheme = { readonly type: "http"; readonly scheme: "bearer"; readonly description: string };

/** Components that several operations share. */
export type Components = {
  readonly securitySchemes: { readonly bearer?: SecurityScheme };
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly headers: Readonly<Record<string, Header>>;
  readonly responses: Readonly<Record<string, Response>>;
  readonly schemas: Readonly<Record<string, Schema>>;
};

/** An OpenAPI document, version 3.1. */
export type Document = {
  readonly openapi: "3.1.0";
  readonly info: Readonly<Record<string, unknown>>;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: Components;
};
