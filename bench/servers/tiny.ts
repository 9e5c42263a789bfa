import { createContextValues } from "@connectrpc/connect";
import { gateway } from "@postern/gateway";
import pino from "pino";
import { readConfig } from "../../src/config.ts";
import { describe } from "../../src/contract/describe.ts";
import { keys, newId } from "../../src/deps.ts";
import { inOurWords } from "../../src/errors.ts";
import { gate } from "../../src/guards/authenticate.ts";
import { capacity } from "../../src/guards/capacity.ts";
import { guards } from "../../src/guards/guards.ts";
import { report } from "../../src/guards/report.ts";
import { messageRules } from "../../src/guards/validate.ts";
import { chooseLanguage } from "../../src/messages/catalogue.ts";
import { secretsOf } from "../../src/security/secrets.ts";
import { tell } from "./tell.ts";
import { tinyRoutes } from "./tiny_routes.ts";

const rules = messageRules();
const lines = report({ logger: pino({ level: "warn" }), languageOf: chooseLanguage });
const nothing = async () => undefined;
const callers = { find: nothing, forget() {} };
const outages = { isUnavailable: () => false, isStatementTimeout: () => false };
const hashing = { concurrency: 1, queue: 1, memoryKib: 8, iterations: 1, parallelism: 1 };
const interceptors = guards({
  report: lines,
  capacity: capacity(1_000),
  callers,
  rules,
  declared: [],
  outages,
  trustedProxies: [],
  lookups: {
    instanceId: "",
    organizationExists: async () => false,
    ownerOfUser: nothing,
    userOfSession: nothing,
    userGrant: nothing,
    membershipsOf: async () => [],
  },
  idempotency: { recordOf: nothing, keyring: secretsOf([Buffer.alloc(32)], hashing).keyring, clock: () => new Date() },
});
const server = await gateway({
  routes: tinyRoutes,
  interceptors,
  standard: { interceptors: [lines.interceptor], requestGate: lines.atGate(() => {}) },
  requestGate: lines.atGate(gate(callers, outages)),
  onError: lines.onError,
  refuse: inOurWords,
  rules,
  limits: readConfig({}),
  limitsOf: (method) => describe(method).limits,
  contextValues: () => createContextValues().set(keys.requestId, newId()),
  responseHeaders: (values) => ({ "x-request-id": values.get(keys.requestId) }),
}).listen();
await tell(server.url, server);
