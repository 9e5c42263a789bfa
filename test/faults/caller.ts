import { type DescMethodUnary, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { reasonOf } from "../../src/errors.ts";
import { callRest } from "../fixture/rest_call.ts";
import { type Answer, clientOf } from "../harness.ts";

/** The protocols that writers use, each by a client of its own. */
export const protocols = ["gRPC", "gRPC-Web", "Connect", "REST"] as const;

export type Protocol = (typeof protocols)[number];

/** A call, with its idempotency key if it has one. */
export type Call = {
  readonly method: DescMethodUnary;
  readonly request: JsonObject;
  readonly token: string;
  readonly key?: string | undefined;
};

/** The knowledge of a client after a call: an unknown outcome may have had its effect, a refused call had none. */
export type Outcome =
  | { readonly kind: "acknowledged" }
  | { readonly kind: "unknown" | "refused"; readonly why: string; readonly retryAfterMs?: number | undefined };

export type Caller = (call: Call, timeoutMs?: number) => Promise<Outcome>;

/** Opens a client of one protocol; a refusal for another reason than trouble is an outcome as well. */
export function openCaller(protocol: Protocol, url: string): Caller {
  switch (protocol) {
    case "gRPC":
      return byTransport(createGrpcTransport({ baseUrl: url }));
    case "gRPC-Web":
      return byTransport(createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" }));
    case "Connect":
      return byTransport(createConnectTransport({ baseUrl: url, httpVersion: "2" }));
    case "REST":
      return byRest(url);
  }
}

const defaultTimeoutMs = 20_000;

function byTransport(transport: Transport): Caller {
  return ({ method, request, token, key }, timeoutMs = defaultTimeoutMs) =>
    transport
      .unary(method, undefined, timeoutMs, headersOf(token, key), fromJson(method.input, request))
      .then(() => acknowledged, outcomeOfError);
}

function byRest(url: string): Caller {
  return ({ method, request, token, key }, timeoutMs = defaultTimeoutMs) =>
    callRest(clientOf(url, token), method, request, {
      "connect-timeout-ms": String(timeoutMs),
      ...(key ? { "idempotency-key": key } : {}),
    }).then(outcomeOfAnswer, outcomeOfError);
}

const headersOf = (token: string, key?: string) => ({
  authorization: `Bearer ${token}`,
  ...(key ? { "idempotency-key": key } : {}),
});

const acknowledged = { kind: "acknowledged" } as const;

function outcomeOfError(error: unknown): Outcome {
  const reason = reasonOf(error);
  if (reason === undefined) return isUnsent(error) ? unsent : { kind: "unknown", why: messageOf(error) };
  return { kind: isUnknown(reason) ? "unknown" : "refused", why: reason };
}

const unsent = { kind: "refused", why: "ECONNREFUSED" } as const;

/** Whether no connection could be made; of others that fail without a reason the node may have done anything. */
function isUnsent(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return Reflect.get(error, "code") === "ECONNREFUSED" || isUnsent(error.cause);
}

function messageOf(error: unknown): string {
  const { rawMessage, cause } = ConnectError.from(error);
  return cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : rawMessage;
}

/** Whether the service or the way to it was in trouble, so that another try may succeed. */
export const isTrouble = (outcome: Outcome): boolean =>
  outcome.kind !== "refused" || ["UNAVAILABLE", "OVERLOADED", "ECONNREFUSED"].includes(outcome.why);

function outcomeOfAnswer({ status, body }: Answer): Outcome {
  if (status === 200) return acknowledged;
  const reason: string = body.details[0].reason;
  return { kind: isUnknown(reason) ? "unknown" : "refused", why: reason };
}

const isUnknown = (reason: string) =>
  ["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN_WITH_KEY", "DEADLINE_EXCEEDED", "CANCELLED"].includes(reason);
