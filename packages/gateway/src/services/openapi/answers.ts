import type { DescMessage } from "@bufbuild/protobuf";
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
  405: "The path does not know the method",
  409: "Something is in the way",
  413: "The body is too large",
  415: "The body is not JSON",
  429: "Too much was asked for",
  431: "The headers are too large",
  499: "The client went away",
  500: "Something went wrong on the server",
  501: "The server cannot do this",
  503: "The server cannot answer now",
  504: "It took too long",
  505: "gRPC needs HTTP/2",
};

const moreHeaders: Readonly<Record<number, readonly string[]>> = {
  401: ["www-authenticate"],
  429: ["retry-after"],
  503: ["retry-after"],
};

/** A response for each status of a refusal. */
export function refusals(
  options: Pick<ApiOptions, "reasons" | "responseHeaders" | "errorExamples">,
): Record<string, Response> {
  const all = [...options.reasons].sort(([a], [b]) => a - b);
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

/** The schemas of the error body and of its reasons. */
export function errorSchemas(
  { message }: Schemas,
  { domain, reasons }: Pick<ApiOptions, "domain" | "reasons">,
): Record<string, Schema> {
  const typed = (type: DescMessage, more: Readonly<Record<string, Schema>> = {}): Schema => ({
    allOf: [
      {
        type: "object",
        properties: { "@type": { type: "string", const: `type.googleapis.com/${type.typeName}` }, ...more },
        required: ["@type"],
      },
      message(type, "answer"),
    ],
  });
  const info = { reason: { $ref: "#/components/schemas/Reason" }, domain: { type: "string", const: domain } };
  const others = [BadRequestSchema, ResourceInfoSchema, RetryInfoSchema, LocalizedMessageSchema];
  const details = { anyOf: [typed(ErrorInfoSchema, info), ...others.map((type) => typed(type))] };
  return {
    Reason: {
      type: "string",
      description: "Why something was refused; stable.",
      enum: [...reasons.values()].flat().sort(),
    },
    Error: {
      type: "object",
      description: "A refusal, the same on every path.",
      properties: {
        code: { type: "integer", description: "The code of gRPC.", minimum: 1, maximum: 16 },
        message: { type: "string", description: "In English, for people." },
        details: { type: "array", items: details },
      },
      required: ["code", "message", "details"],
    },
  };
}
