import { randomBytes } from "node:crypto";
import type { DescService, Message } from "@bufbuild/protobuf";
import {
  type Code,
  type ConnectError,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { invalid } from "../src/errors/gateway_error.ts";
import { type RefusalDetails, refusal } from "../src/errors/refusal.ts";
import type { Violation } from "../src/errors/violation.ts";
import { type GatewayLimits, type GatewayOptions, gateway, type Routes } from "../src/gateway.ts";
import type { Listening } from "../src/http/server.ts";
import type { ConnectionSource } from "../src/http/source.ts";
import type { Certificate } from "../src/http/tls.ts";
import { http2 } from "./http/implementation.ts";
import { type SampleRpc, sampleService } from "./sample_service.ts";

/** The implementation of a sample rpc in a test. */
export type SampleHandler = (message: Message, context: HandlerContext) => Promise<object> | AsyncIterable<object>;

/** Options of a gateway in a test, other than the defaults. */
export type SampleOptions = Partial<GatewayOptions> & {
  readonly rpcs?: readonly SampleRpc[];
  /** The implementation of every rpc; an echo when absent. */
  readonly handler?: SampleHandler;
  readonly certificate?: Certificate;
  readonly source?: ConnectionSource;
};

/** A gateway on a free port. */
export type SampleServer = Listening & { readonly service: DescService };

const usualLimits: Partial<GatewayLimits> = {
  messageMaxBytes: 1000,
  headersMaxBytes: 4096,
  headerTimeoutMs: 5000,
  bodyTimeoutMs: 5000,
  idleTimeoutMs: 5000,
  streamsMax: 100,
  unknownStreamsMax: 100_000,
  shutdownGraceMs: 2000,
};

const usualRpcs: readonly SampleRpc[] = [
  { name: "One", rule: { pattern: { case: "get", value: "/one/{name}" } } },
  { name: "Do", rule: { pattern: { case: "post", value: "/do" }, body: "*" } },
  { name: "Watch", rule: { pattern: { case: "get", value: "/watch" } }, stream: true },
];

/** Opens a port for the sample service, by default with `/one/{name}`, `/do` and `/watch`. */
export async function openSample(
  limits: Partial<GatewayLimits> = {},
  options: SampleOptions = {},
): Promise<SampleServer> {
  const { rpcs = usualRpcs, handler = echo, certificate, source, ...more } = options;
  const service = sampleService(rpcs);
  const served = gateway({
    routes: sampleRoutes(service, handler),
    interceptors: [valid],
    rules: () => brokenRules,
    contextValues: () => createContextValues().set(requestIdKey, randomBytes(12).toString("hex")),
    responseHeaders: (values) => ({ "x-request-id": values.get(requestIdKey) }),
    ...more,
    limits: { ...usualLimits, ...limits },
  });
  return { ...(await served.listen({ certificate, http2, source })), service };
}

/** Registers a service, every rpc of which is answered by one handler. */
export function sampleRoutes(service: DescService, handler: SampleHandler = echo): Routes {
  const handlers = Object.fromEntries(service.methods.map(({ localName }) => [localName, handler]));
  return (router) => void router.service(service, handlers as object);
}

/** A refusal by the implementation. */
export const refuseSample = (code: Code, reason: string, details: RefusalDetails = {}): ConnectError =>
  refusal({ domain: "sample", reason, code, text: () => "no", describe: ({ text }) => text }, details);

const requestIdKey = createContextKey("", { description: "request id" });

const echo: SampleHandler = async (message) => message;

const valid: Interceptor = (next) => async (request) => {
  if (request.stream) return next({ ...request, message: eachValid(request.message) });
  refuseBroken(request.message);
  return next(request);
};

async function* eachValid(messages: AsyncIterable<Message>) {
  for await (const message of messages) {
    refuseBroken(message);
    yield message;
  }
}

function refuseBroken(message: Message): void {
  const broken = brokenRules(message);
  if (broken.length > 0) throw invalid(broken);
}

/** The rules that the fields of the sample message have by buf.validate. */
function brokenRules(message: Message): Violation<string>[] {
  const { name = "", tags = [] } = message as { name?: string; tags?: readonly string[] };
  return [
    ...(name.length > 5 ? [{ field: "name", text: "is too long", reason: "STRING_MAX_LEN" }] : []),
    ...(tags.length > 3 ? [{ field: "tags", text: "has too many", reason: "REPEATED_MAX_ITEMS" }] : []),
    ...(new Set(tags).size < tags.length ? [{ field: "tags", text: "has equal ones", reason: "REPEATED_UNIQUE" }] : []),
  ];
}
