import { create, type DescMethod } from "@bufbuild/protobuf";
import { type HttpRule, HttpRuleSchema } from "../../../gen/google/api/http_pb.ts";
import { type GatewayReason, gatewayReasons, type Refuse } from "../../errors/gateway_error.ts";
import { infoOf } from "../../errors/refusal.ts";
import { httpStatusOf, withReason } from "../../rpc/protocols/http_error.ts";
import { pathOf, type RpcMethod } from "../../rpc/rpc_method.ts";
import type { ApiOptions } from "./options.ts";

/** Texts and options of an OpenAPI document, all of which have defaults. */
export type OpenapiOptions = Partial<Omit<ApiOptions, "info" | "methods"> & ApiOptions["info"]>;

/** The rpcs from which a document's defaults are derived. */
export type DefaultOptions = {
  readonly methods: readonly RpcMethod[];
  /** Whether rpcs are served at the paths of `google.api.http`. */
  readonly rest: boolean;
  readonly refuse: Refuse;
};

/** Makes a document's options from the served rpcs; `overrides` take precedence. */
export function defaultOptions(served: DefaultOptions, overrides: OpenapiOptions): ApiOptions {
  const methods = served.methods.map(({ method }) => method);
  const byMethod = new Map(served.methods.map((rpc) => [rpc.method as DescMethod, rpc]));
  const { title, version, description, summary, license, ...others } = overrides;
  const fallback = namesOf(methods);
  return {
    info: {
      title: title ?? fallback.title,
      version: version ?? fallback.version,
      description: description ?? "",
      ...(summary !== undefined && { summary }),
      ...(license && { license }),
    },
    methods,
    describe: (method) => factsOf(byMethod.get(method), served.rest),
    comments: {},
    prefix: fallback.prefix,
    parameters: {},
    responseHeaders: {},
    examples: {},
    remarks: () => [],
    ...refusalsBy(served.refuse),
    ...others,
  };
}

/** A title, a version, and the common package of the services. */
function namesOf(methods: readonly DescMethod[]) {
  const services = [...new Set(methods.map(({ parent }) => parent))];
  const packages = [...new Set(services.map(({ file }) => file.proto.package))];
  const [only = ""] = packages.length === 1 ? packages : [];
  const version = /\.(v\d+\w*)$/.exec(only)?.[1] ?? "v1";
  return { title: services.map(({ name }) => name).join(", "), version, prefix: only === "" ? "" : `${only}.` };
}

function factsOf(rpc: RpcMethod | undefined, rest: boolean) {
  const rules = rest ? (rpc?.rules ?? []) : [];
  return {
    rest: rpc && rules.length === 0 ? plainRules(rpc.method) : rules,
    messageMaxBytes: rpc?.limits.messageMaxBytes ?? 0,
    isOpen: false,
    sentence: "",
    headers: [],
    statuses: [429],
  };
}

/** The rule for an rpc without one: it accepts JSON at its gRPC path, unless it streams requests. */
function plainRules(method: DescMethod): HttpRule[] {
  if (method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming") return [];
  return [create(HttpRuleSchema, { pattern: { case: "post", value: pathOf(method) }, body: "*" })];
}

/** The gateway's reasons by HTTP status, and their domain, as `refuse` makes them. */
function refusalsBy(refuse: Refuse): Pick<ApiOptions, "domain" | "reasons"> {
  const refusals = (Object.keys(gatewayReasons) as GatewayReason[]).map((reason) => {
    const error = withReason(refuse(reason, {}), reason);
    return { reason: infoOf(error)?.reason ?? reason, domain: infoOf(error)?.domain, status: httpStatusOf(error) };
  });
  const byStatus = Map.groupBy(refusals, ({ status }) => status);
  return {
    domain: refusals[0]?.domain ?? "",
    reasons: new Map([...byStatus].map(([status, list]) => [status, list.map(({ reason }) => reason)])),
  };
}
