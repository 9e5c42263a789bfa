import { create, setExtension } from "@bufbuild/protobuf";
import { CallValues, gateway } from "@postern/gateway";
import pino from "pino";
import { AccessSchema, access, message_bytes } from "../../gen/postern/v1/options_pb.ts";
import { tell } from "../../packages/gateway/bench/servers/tell.ts";
import { routesOf } from "../../packages/gateway/bench/servers/tiny_routes.ts";
import { tinyService } from "../../packages/gateway/bench/tiny.ts";
import { readConfig } from "../../src/config/config.ts";
import { describe } from "../../src/contract/describe.ts";
import { keys, newId } from "../../src/deps.ts";
import { inOurWords } from "../../src/errors.ts";
import { gate } from "../../src/guards/authenticate.ts";
import { capacity } from "../../src/guards/capacity.ts";
import { rateLimits } from "../../src/guards/enforce_rate_limits.ts";
import { guards } from "../../src/guards/guards.ts";
import { recentTokens } from "../../src/guards/recent_tokens.ts";
import { report } from "../../src/guards/report.ts";
import { streamLimit } from "../../src/guards/stream_limit.ts";
import { messageRules } from "../../src/guards/validate.ts";
import { chooseLanguage } from "../../src/messages/catalogue.ts";
import { secretsOf } from "../../src/security/secrets.ts";

const service = tinyService((options) => {
  setExtension(options, access, create(AccessSchema, { who: { case: "anyone", value: true } }));
  setExtension(options, message_bytes, 16_384);
});
const rules = messageRules();
const outages = { isUnavailable: () => false, isStatementTimeout: () => false };
const lines = report({ logger: pino({ level: "warn" }), languageOf: chooseLanguage, outages });
const nothing = async () => undefined;
// Limits that count every call, and are never reached.
const calls = 60_000_000;
const limits = rateLimits({
  callsPerAddressPerMinute: calls,
  callsPerCallerPerMinute: calls,
  callsPerOrganizationPerMinute: calls,
  unknownTokensPerAddressPerMinute: calls,
});
const known = {
  callers: { cached: () => undefined, wasFound: () => false, find: nothing, forget() {}, forgetAll() {} },
  limits,
  rates: { waitMs: () => 0 },
  tokens: recentTokens(),
  resourceMetadata: () => undefined,
};
const hashing = { concurrency: 1, queue: 1, memoryKib: 8, iterations: 1, parallelism: 1 };
const interceptors = guards({
  report: lines,
  known,
  capacity: capacity(1_000),
  streams: streamLimit({ all: 1, ofCaller: 1 }),
  rules,
  declared: [],
  late: [],
  chosenIds: "administrators",
  outages,
  noteAttempt() {},
  lookups: {
    instanceId: "",
    organizationExists: async () => false,
    ownerOfUser: nothing,
    ownerOfAnyUser: nothing,
    userOfLoginName: nothing,
    userOfSession: nothing,
    userGrant: nothing,
    membershipsOf: async () => [],
    signedInFreshly: async () => true,
  },
  idempotency: { recordOf: nothing, keyring: secretsOf([Buffer.alloc(32)], hashing).keyring, clock: () => new Date() },
});
const server = await gateway({
  routes: routesOf(service),
  interceptors,
  standard: { interceptors: [lines.interceptor], requestGate: lines.atGate(() => {}) },
  requestGate: lines.atGate(gate(known)),
  onError: lines.onError,
  refuse: inOurWords,
  rules,
  limits: readConfig({}),
  limitsOf: (method) => describe(method).limits,
  contextValues: ({ network }) => new CallValues().set(keys.requestId, newId()).set(keys.network, network),
  responseHeaders: (values) => ({ "x-request-id": values.get(keys.requestId) }),
}).listen();
await tell(server.url, server);
