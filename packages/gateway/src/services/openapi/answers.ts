import type { DescField } from "@bufbuild/protobuf";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  LocalizedMessageSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "../../../gen/google/rpc/error_details_pb.ts";
import type { Header, Ref, Response, Schema } from "./document.ts";
import type { ApiOptions } from "./options.ts";
import type { Schemas } from "./schemas.ts";

/** Headers that several responses share. */
export const sharedHeaders = ({ responseHeaders }: Pick<ApiOptions, "responseHeaders">): Record<string, Header> => ({
  ...responseHeaders,
  "www-authenticate": { description: "How to sign in (RFC 6750).", schema: { type: "string" } },
  "retry-after": { description: "Seconds after which another try may succeed.", schema: { type: "string" } },
});

/** References to the headers of every response. */
export const commonHeaders = ({ responseHeaders }: Pick<ApiOptions, "responseHeaders">): Record<string, Ref> =>
  headerRefs(Object.keys(responseHeaders));

const headerRefs = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const titles: Readonly<Record<number, string>> = {
  400: "The request is wrong, or does not fit the state of things",
  401: "Nobody is signed in",
  403: "The permission is missing",
  404: "Something does not exist, as far as the caller may know",
  409: "Something is in the way",
  413: "The body is too large",
  415: "The body is not JSON",
  429: "Too much was asked for",
  431: "The headers are too large",
  500: "Something went wrong on the server",
  503: "The server cannot answer now",
  504: "It took too long",
};

const moreHeaders: Readonly<Record<number, readonly string[]>> = {
  401: ["www-authenticate"],
  429: ["retry-after"],
  503: ["retry-after"],
};

/** A response for each status with which operations fail. */
export function refusals(
  options: Pick<ApiOptions, "reasons" | "responseHeaders" | "errorExamples">,
  isUsed: (status: string) => boolean,
): Record<string, Response> {
  const all = [...options.reasons].filter(([status]) => isUsed(String(status))).sort(([a], [b]) => a - b);
  const common = commonHeaders(options);
  const responses = all.map(([status, reasons]) => {
    const example = options.errorExamples?.get(status);
    const response = refusal(status, reasons, common);
    return [String(status), example === undefined ? response : withExample(response, example)] as const;
  });
  return Object.fromEntries(responses);
}

function refusal(status: number, reasons: readonly string[], common: Readonly<Record<string, Ref>>): Response {
  return {
    description: `${titles[status] ?? "Refused"}: ${reasons.map((reason) => `\`${reason}\``).join(", ")}.`,
    headers: { ...common, ...headerRefs(moreHeaders[status] ?? []) },
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };
}

const withExample = (response: Response, example: unknown): Response => ({
  ...response,
  content: Object.fromEntries(Object.entries(response.content).map(([type, body]) => [type, { ...body, example }])),
});

const ref = (name: string): Ref => ({ $ref: `#/components/schemas/${name}` });

/** The schemas of the error body, its reasons and its details. */
export function errorSchemas(
  types: Schemas,
  { domain, reasons }: Pick<ApiOptions, "domain" | "reasons">,
): Record<string, Schema> {
  const names = [...reasons.values()].flat().sort();
  return {
    // Clients generated with a closed enumeration fail on a newer server's reasons.
    Reason: {
      type: "string",
      description: "The reason of a refusal; stable. Others may follow.",
      "x-extensible-enum": names,
    },
    Error: errorBody,
    ErrorDetail: errorDetail(types, domain),
  };
}

const errorBody: Schema = {
  type: "object",
  description: "A refusal, the same on every path.",
  properties: {
    code: { type: "integer", description: "The code of gRPC.", minimum: 1, maximum: 16 },
    message: { type: "string", description: "In English, for people." },
    details: {
      type: "array",
      description: "The reason, always, and beside it the wrong fields, the object, or when to try again.",
      items: ref("ErrorDetail"),
    },
  },
  required: ["code", "message", "details"],
};

const detailTypes = [
  ErrorInfoSchema,
  BadRequestSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
  LocalizedMessageSchema,
] as const;

/**
 * A detail of an error: its type, and the fields of all types together. Generators turn a union into poor types, and fail on details that
 * it does not list.
 */
function errorDetail(types: Schemas, domain: string): Schema {
  const fields = detailTypes.flatMap((type) =>
    type.fields.map((field) => [field.jsonName, ofType(types, field)] as const),
  );
  return {
    type: "object",
    description: "A detail of a refusal, with the fields of its type. Others may follow.",
    properties: {
      "@type": { type: "string", description: `The type of the detail: ${listOfTypes()}.` },
      ...Object.fromEntries(fields),
      reason: { ...ref("Reason"), description: "The reason of the refusal. Of `google.rpc.ErrorInfo`." },
      domain: { type: "string", description: `\`${domain}\`. Of \`google.rpc.ErrorInfo\`.` },
    },
    required: ["@type"],
  };
}

const listOfTypes = () => detailTypes.map(({ typeName }) => `\`type.googleapis.com/${typeName}\``).join(", ");

function ofType(types: Schemas, field: DescField): Schema {
  const { description = "", ...schema } = types.property(field, "answer");
  return { ...schema, description: `${description} Of \`${field.parent.typeName}\`.`.trim() };
}
