import { createContextValues } from "@connectrpc/connect";
import pino from "pino";
import { listen } from "../../packages/gateway/src/http/server.ts";
import { adapterRoom } from "../../packages/gateway/src/rpc/adapter/room.ts";
import { jsonDoor } from "../../packages/gateway/src/rpc/door.ts";
import { lane } from "../../packages/gateway/src/rpc/lane/lane.ts";
import { operationTable } from "../../packages/gateway/src/rpc/operations.ts";
import { readConfig } from "../../src/config.ts";
import { keys, newId } from "../../src/deps.ts";
import { chain } from "../../src/guards/chain.ts";
import { report } from "../../src/guards/report.ts";
import { messageRules } from "../../src/guards/validate.ts";
import { chooseLanguage } from "../../src/messages/catalogue.ts";
import { secretsOf } from "../../src/security/secrets.ts";
import { asked, greeting, tinyService } from "../tiny.ts";
import { tell } from "./tell.ts";

const config = readConfig({});
const rules = messageRules();
const reports = report({ logger: pino({ level: "warn" }), languageOf: chooseLanguage });
const nothing = async () => undefined;
const guards = chain({
  ...{ report: reports, rules, declared: [], callers: { find: nothing, forget() {} } },
  outages: { isUnavailable: () => false, isStatementTimeout: () => false },
  lookups: {
    ...{ instanceId: "", organizationExists: async () => false, ownerOfUser: nothing, userOfSession: nothing },
    ...{ userGrant: nothing, membershipsOf: async () => [] },
  },
  idempotency: {
    recordOf: nothing,
    keyring: secretsOf([Buffer.alloc(32)], hashing()).keyring,
    clock: () => new Date(),
  },
});
const greet = async (request: object) => greeting({ ...asked, ...request });
const operations = operationTable([{ service: tinyService(), handlers: { greet } }], guards);
const stopping = new AbortController();
const parts = {
  ...{ operations, rules, refused: reports.refused, ready: () => true, limits: config },
  newCall() {
    const requestId = newId();
    return { requestId, values: createContextValues().set(keys.requestId, requestId) };
  },
};
const server = await listen({
  ...{ host: "127.0.0.1", port: 0, limits: config, stopping },
  door: jsonDoor(parts, [adapterRoom(parts)]),
  lane: lane(parts),
});
await tell(server.url, server);

function hashing() {
  return { concurrency: 1, queue: 1, memoryKib: 8, iterations: 1, parallelism: 1 };
}
