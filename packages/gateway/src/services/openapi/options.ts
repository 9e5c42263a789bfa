import type { DescField, DescMethod, JsonObject } from "@bufbuild/protobuf";
import type { HttpRule } from "../../../gen/google/api/http_pb.ts";
import type { Header, Parameter } from "./document.ts";

/** Facts about an rpc for its OpenAPI description, in addition to its messages. */
export type MethodFacts = {
  /** The rules of google.api.http. */
  readonly rest: readonly HttpRule[];
  readonly messageMaxBytes: number;
  /** Whether unknown callers are permitted. */
  readonly isOpen: boolean;
  /** A description of who may call it, in one or more sentences. */
  readonly sentence: string;
  readonly permission?: string | undefined;
  /** The names of the shared header parameters that the rpc uses. */
  readonly headers: readonly string[];
  /** The HTTP statuses of its errors, in addition to those of every rpc. */
  readonly statuses: readonly number[];
};

/** A call of an operation, as the JSON of its messages. */
export type Example = { readonly request: JsonObject; readonly answer: JsonObject };

/** Options of an OpenAPI document; `defaultOptions` makes them for any service. */
export type ApiOptions = {
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary?: string;
    readonly description: string;
    readonly contact?: Readonly<Record<string, string>>;
    readonly license?: Readonly<Record<string, string>>;
  };
  readonly methods: readonly DescMethod[];
  readonly describe: (method: DescMethod) => MethodFacts;
  /** The proto comments by full name. */
  readonly comments: Readonly<Record<string, string>>;
  /** The package, with its trailing dot, to be omitted from type names. */
  readonly prefix: string;
  /** The request headers that rpcs share, by name. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  /** The callers' bearer token, explained in a sentence; none if absent. */
  readonly bearer?: string | undefined;
  /** The headers that every response has, by name. */
  readonly responseHeaders: Readonly<Record<string, Header>>;
  /** The domain of ErrorInfo, and its reasons by HTTP status. */
  readonly domain: string;
  readonly reasons: ReadonlyMap<number, readonly string[]>;
  /** Examples by operation id. */
  readonly examples: Readonly<Record<string, Example>>;
  /** The body of one error per HTTP status; a status without one has no example. */
  readonly errorExamples?: ReadonlyMap<number, unknown>;
  /** Sentences about a field, from custom options of the contract. */
  readonly remarks: (field: DescField) => readonly string[];
};
