import type { DescField, DescMethod, JsonObject } from "@bufbuild/protobuf";
import type { HttpRule } from "../../../gen/google/api/http_pb.ts";
import type { Header, Parameter } from "./document.ts";

/** Facts about an rpc for its OpenAPI description, beyond its messages. */
export type MethodFacts = {
  /** The rules of google.api.http. */
  readonly rest: readonly HttpRule[];
  readonly messageMaxBytes: number;
  /** Whether unknown callers are permitted. */
  readonly isOpen: boolean;
  /** The permitted callers, in one or more sentences. */
  readonly sentence: string;
  readonly permission?: string | undefined;
  /** The names of the shared header parameters that the rpc uses. */
  readonly headers: readonly string[];
  /** The HTTP statuses of its refusals, beyond those of every rpc. */
  readonly statuses: readonly number[];
};

/** A call of an operation, in the JSON of its messages. */
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
  /** The comments of the proto by full name. */
  readonly comments: Readonly<Record<string, string>>;
  /** The package, with its last dot, that is omitted from type names. */
  readonly prefix: string;
  /** The request headers that rpcs share, by name. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  /** The bearer token of callers, in a sentence; none when absent. */
  readonly bearer?: string | undefined;
  /** The headers that every response has, by name. */
  readonly responseHeaders: Readonly<Record<string, Header>>;
  /** The domain of ErrorInfo, and its reasons by HTTP status. */
  readonly domain: string;
  readonly reasons: ReadonlyMap<number, readonly string[]>;
  /** Examples by the ids of operations. */
  readonly examples: Readonly<Record<string, Example>>;
  /** The body of one refusal for each HTTP status; its response has none where it is absent. */
  readonly errorExamples?: ReadonlyMap<number, unknown>;
  /** Sentences about a field by custom options of the contract. */
  readonly remarks: (field: DescField) => readonly string[];
};
