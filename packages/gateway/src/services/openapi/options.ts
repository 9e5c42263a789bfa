import type { DescField, DescMethod } from "@bufbuild/protobuf";
import type { HttpRule } from "../../../gen/google/api/http_pb.ts";
import type { Header, Parameter } from "./document.ts";

/** What an OpenAPI document says of an rpc beside its messages. */
export type MethodFacts = {
  /** Its rules of google.api.http. */
  readonly rest: readonly HttpRule[];
  readonly messageMaxBytes: number;
  /** Whether nobody has to be signed in. */
  readonly isOpen: boolean;
  /** Who may call it, in one or more sentences. */
  readonly sentence: string;
  readonly permission?: string | undefined;
  /** The names of the shared header parameters that mean something to it. */
  readonly headers: readonly string[];
  /** The HTTP statuses it is refused with, beside those that every rpc has. */
  readonly statuses: readonly number[];
};

/** What an OpenAPI document is made of; `defaultOptions` has it for any service. */
export type ApiOptions = {
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary?: string;
    readonly description: string;
    readonly license?: Readonly<Record<string, string>>;
  };
  readonly methods: readonly DescMethod[];
  readonly describe: (method: DescMethod) => MethodFacts;
  /** The comments of the proto by full name. */
  readonly comments: Readonly<Record<string, string>>;
  /** The package that names of types are shown without, with its last dot. */
  readonly prefix: string;
  /** The request headers that rpcs share, by name. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  /** What bearer token callers present, in a sentence; none when absent. */
  readonly bearer?: string | undefined;
  /** The headers that every response has, by name. */
  readonly responseHeaders: Readonly<Record<string, Header>>;
  /** The domain of ErrorInfo, and its reasons by the HTTP status that they are refused with. */
  readonly domain: string;
  readonly reasons: ReadonlyMap<number, readonly string[]>;
  /** What options of the contract ask of a field, in sentences. */
  readonly remarks: (field: DescField) => readonly string[];
};
