import { createContextValues } from "@connectrpc/connect";
import type { Logger } from "pino";
import { AccountService } from "../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../gen/postern/v1/application_pb.ts";
import { EventService } from "../gen/postern/v1/event_pb.ts";
import { MemberService } from "../gen/postern/v1/member_pb.ts";
import { OrganizationService } from "../gen/postern/v1/organization_pb.ts";
import { PolicyService } from "../gen/postern/v1/policy_pb.ts";
import { ProjectService } from "../gen/postern/v1/project_pb.ts";
import { SessionService } from "../gen/postern/v1/session_pb.ts";
import { UserGrantService } from "../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../gen/postern/v1/user_pb.ts";
import { type Listening, listen } from "../packages/gateway/src/http/server.ts";
import { adapterRoom } from "../packages/gateway/src/rpc/adapter/room.ts";
import { corsFor, withCors } from "../packages/gateway/src/rpc/cors.ts";
import { jsonDoor } from "../packages/gateway/src/rpc/door.ts";
import { lane } from "../packages/gateway/src/rpc/lane/lane.ts";
import { implementation, operationTable } from "../packages/gateway/src/rpc/operations.ts";
import type { Fields } from "../packages/gateway/src/rpc/protocols/protocol.ts";
import { callMetrics, doorOf, operationsOf } from "../packages/gateway/src/services/metrics/calls.ts";
import type { HouseLoad } from "../packages/gateway/src/services/metrics/house.ts";
import { metricsRoom } from "../packages/gateway/src/services/metrics/room.ts";
import { type RuntimeMetrics, runtimeMetrics } from "../packages/gateway/src/services/metrics/runtime.ts";
import { readiness } from "../packages/gateway/src/services/readiness.ts";
import { reference } from "../packages/gateway/src/services/reference.ts";
import { standardOnes, standardServices } from "../packages/gateway/src/services/services.ts";
import { watchPasswordFile } from "./admin_files.ts";
import { bootstrapHouse, howToBegin } from "./bootstrap.ts";
import { type Config, smsOf, tracesOf } from "./config.ts";
import { type Call, keys } from "./deps.ts";
import type { MessageRule } from "./errors.ts";
import { unsettledSeconds } from "./events/follow.ts";
import { expiredRecords, startSweep } from "./events/sweep.ts";
import { chain } from "./guards/chain.ts";
import type { Lookups } from "./guards/holding.ts";
import { remember } from "./guards/remember.ts";
import { type Report, report } from "./guards/report.ts";
import { messageRules, type RulesOf } from "./guards/validate.ts";
import { createLogger, type House, openHouse } from "./house.ts";
import { chooseLanguage } from "./messages/catalogue.ts";
import { smsChores, smsHealth } from "./notify/outbox.ts";
import { smsSender } from "./notify/sender.ts";
import { startSmsWorker } from "./notify/worker.ts";
import { isStatementTimeout, isUnavailable } from "./postgres/failure.ts";
import { hashBehindOthers } from "./security/priority.ts";
import { accountService } from "./services/account.ts";
import { applicationRules, applicationService } from "./services/application.ts";
import * as lookups from "./services/caller_lookups.ts";
import { eventRules, eventService } from "./services/event.ts";
import { expiryChores } from "./services/expiry.ts";
import { memberRules, memberService } from "./services/member.ts";
import { organizationRules, organizationService } from "./services/organization.ts";
import { sendsCode } from "./services/phone_code.ts";
import { policyService } from "./services/policy.ts";
import { projectRules, projectService } from "./services/project.ts";
import { projectGrantRules } from "./services/project_grant.ts";
import { projectRoleRules } from "./services/project_role.ts";
import { sessionRules, sessionService } from "./services/session.ts";
import { userRules, userService } from "./services/user.ts";
import { userGrantRules, userGrantService } from "./services/user_grant.ts";
import type { Tracing } from "./tracing/tracing.ts";

/** A service that answers. */
export type Server = AsyncDisposable & {
  readonly url: string;
  /** The calls to begin with, when this start created the first organization. */
  readonly welcome: readonly string[];
  /** Writes why the process cannot go on, and ends its calls with UNAVAILABLE as far as they heed the database. */
  readonly fail: (error: unknown) => Promise<void>;
};

/** Starts everything: database, tables, first organization, and the doors. */
export async function startServer(config: Config): Promise<Server> {
  await using opened = new AsyncDisposableStack();
  const logger = createLogger(config);
  const tracing = await startTracing(config, logger);
  if (tracing) opened.use(tracing);
  const house = opened.use(await openHouse(config, { logger, observe: tracing?.statement }));
  await hashBehindOthers();
  const runtime = config.metrics === "on" ? opened.use(runtimeMetrics()) : undefined;
  let bootstrapped = false;
  const doors = opened.use(await openDoors(house, config, { runtime, tracing, isBootstrapped: () => bootstrapped }));
  opened.use(reloading(doors, logger));
  const { url } = doors;
  // The port listens before: one that is taken must stop the start before anything is created.
  const created = await bootstrapHouse(house, config);
  bootstrapped = true;
  opened.use(watchPasswordFile(house, config));
  opened.use(startErrands(house, config));
  const welcome = created ? await howToBegin(house, config, url) : [];
  if (house.database.note) logger.info(house.database.note);
  logger.info({ url }, "listening");
  // Disposed of first: a node that stops is not ready, whatever its errands still wait for.
  opened.defer(() => doors[Symbol.asyncDispose]());
  const fail = failing(house, doors);
  const stack = opened.move();
  return { url, welcome, fail, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

// So long may statements run on that were sent when the process failed.
const lastGraceMs = 500;

function failing({ logger, refuse }: House, doors: AsyncDisposable) {
  let failed: Promise<void> | undefined;
  const end = () => Promise.allSettled([doors[Symbol.asyncDispose](), refuse(lastGraceMs)]).then(() => {});
  return (error: unknown) => {
    logger.fatal({ err: error }, "the process ends: nothing handles this error");
    logger.flush();
    // A process that ends without a word is worse than a line in a log that should be silent.
    if (!logger.isLevelEnabled("fatal"))
      process.stderr.write(`postern: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    failed ??= end();
    return failed;
  };
}

/** Traces calls where the settings say so; what is not asked for is not loaded. */
async function startTracing(config: Config, logger: Logger): Promise<Tracing | undefined> {
  const traces = tracesOf(config);
  if (!traces) return undefined;
  const { openTracing } = await import("./tracing/tracing.ts");
  const failed = (error: unknown) => logger.warn({ err: error }, "the collector does not take spans");
  return openTracing({ ...traces, failed });
}

/** Reads the certificate again when the operator says so. */
function reloading({ reload }: Listening, logger: Logger): Disposable {
  const again = () =>
    reload().then(
      () => logger.info("certificate read again"),
      (error) => logger.error({ err: error }, "the certificate cannot be read; the old one stays"),
    );
  process.on("SIGHUP", again);
  return { [Symbol.dispose]: () => void process.off("SIGHUP", again) };
}

/** What is done besides answering: SMS leave, and what is over is cleared away. */
function startErrands({ deps, onAppended, logger }: House, config: Config): AsyncDisposable {
  const { sql, clock, secrets } = deps;
  const failed = (error: unknown, errand: string) =>
    logger.warn({ err: error, errand }, "an errand failed; trying again");
  const errands = new AsyncDisposableStack();
  const chores = [expiredRecords(sql, clock), ...smsChores({ sql, clock }), ...expiryChores(deps, config)];
  errands.use(startSweep({ sql, chores, failed }));
  errands.use(
    startSmsWorker({
      sql,
      clock,
      keyring: secrets.keyring,
      sender: smsSender(smsOf(config), clock),
      onWritten: (look) =>
        onAppended((facts) => {
          if (facts.some(sendsCode)) look();
        }),
      text: config.smsText,
      attempts: config.smsAttempts,
      timeoutMs: config.smsTimeoutMs,
      told: ({ id, userId, attempts }, delivery) => logger.info({ sms: id, userId, attempts, ...delivery }, "sms"),
      failed: (error) => failed(error, "sms"),
    }),
  );
  return errands;
}

type Watching = {
  readonly runtime: RuntimeMetrics | undefined;
  readonly tracing: Tracing | undefined;
  /** Whether the first administrator exists; until then the node is not ready. */
  readonly isBootstrapped: () => boolean;
};

async function openDoors(house: House, config: Config, { runtime, tracing, isBootstrapped }: Watching) {
  const { logger, deps } = house;
  const declared = wholeRules(house, config);
  const rules = messageRules(declared);
  const served = implementations(house, config);
  const calls = runtime && callMetrics([...served, ...standardOnes]);
  const trace = tracing && tracerOf(tracing, operationsOf(served));
  const reports = report({ logger, languageOf: chooseLanguage, trace, ...(calls && { observe: calls.observe }) });
  const operations = operationTable(served, guards(house, { rules, declared, report: reports }));
  const stopping = new AbortController();
  const parts = {
    operations,
    rules,
    newCall() {
      const requestId = deps.ids();
      return { requestId, values: createContextValues().set(keys.requestId, requestId) };
    },
    refused: reports.refused,
    limits: config,
    ready: readiness(async () => isBootstrapped() && (await house.isWritable())),
  };
  const metrics = calls ? [metricsRoom({ calls, runtime, load: () => loadOf(house, parts.ready, tracing) })] : [];
  // Probes come every second: what is well said of them is counted, and not written down.
  const quiet = logger.child({}, { level: logger.isLevelEnabled("info") ? "warn" : logger.level });
  const guard = report({ logger: quiet, languageOf: chooseLanguage, ...(calls && { observe: calls.observe }) });
  const standard = standardServices({ ...parts, guard, stopping: stopping.signal });
  const cors = corsFor(config.corsOrigins);
  const also = config.corsOrigins.length > 0 && { also: ({ origin }: Fields) => cors(String(origin ?? "")) };
  return listen({
    host: config.host,
    port: config.port,
    limits: config,
    stopping,
    onFault: (error) => logger.error({ err: error }, "a connection of HTTP/2 was ended by an error of ours"),
    door: withCors(jsonDoor(parts, [reference(operations), ...metrics, adapterRoom({ ...parts, standard })]), cors),
    lane: lane({ ...parts, ...also, protocols: config.lane === "on" }),
    certificate: config.tlsCertFile ? { certFile: config.tlsCertFile, keyFile: config.tlsKeyFile } : undefined,
  });
}

function tracerOf({ call }: Tracing, operations: ReadonlySet<string>) {
  return (operation: string, { requestHeader, values }: Call) =>
    call(requestHeader, {
      operation: operations.has(operation) ? operation.slice(1) : undefined,
      door: doorOf(requestHeader),
      requestId: values.get(keys.requestId),
    });
}

async function loadOf(
  { databaseLoad, deps, tail }: House,
  ready: () => Promise<boolean>,
  tracing: Tracing | undefined,
): Promise<HouseLoad> {
  const [isReady, sms, unsettled] = await Promise.all([
    ready(),
    smsHealth(deps.sql).catch(() => undefined),
    unsettledSeconds(deps.sql).catch(() => 0),
  ]);
  const { running, waiting } = deps.secrets.passwords.load();
  return {
    ready: isReady,
    sms,
    database: databaseLoad(),
    hashing: { running, waiting },
    logBehindSeconds: Math.max(tail.behindMs() / 1000, unsettled),
    spans: tracing?.load(),
  };
}

type Checks = { readonly rules: RulesOf; readonly declared: readonly MessageRule[]; readonly report: Report };

function guards(house: House, { rules, declared, report }: Checks) {
  const { callers, deps } = house;
  return chain({
    report,
    callers,
    rules,
    declared,
    lookups: lookupsOf(house),
    outages: { isUnavailable, isStatementTimeout },
    idempotency: { recordOf: lookups.doneBeforeRead(deps.sql), keyring: deps.secrets.keyring, clock: deps.clock },
  });
}

/** Owners never change, so what a lookup found is kept; memberships do, and are read anew. */
function lookupsOf({ instanceId, deps: { sql } }: House): Lookups {
  const exists = remember(lookups.organizationExistsRead(sql));
  return {
    instanceId,
    organizationExists: async (id) => (await exists(id)) === true,
    ownerOfUser: remember(lookups.ownerOfUserRead(sql), 1_000_000),
    userOfSession: remember(lookups.userOfSessionRead(sql)),
    userGrant: remember(lookups.userGrantPlaceRead(sql)),
    membershipsOf: lookups.membershipsRead(sql),
  };
}

/** What requests must keep beside the rules that stand at their fields. */
function wholeRules({ deps }: House, config: Config): MessageRule[] {
  return [
    ...applicationRules,
    ...eventRules,
    ...memberRules,
    ...organizationRules,
    ...[projectRules, projectGrantRules, projectRoleRules].flat(),
    ...sessionRules,
    ...userRules(deps, config),
    ...userGrantRules,
  ];
}

function implementations({ deps, tail }: House, config: Config) {
  return [
    implementation(AccountService, accountService(deps)),
    implementation(ApplicationService, applicationService(deps)),
    implementation(EventService, eventService(deps, tail)),
    implementation(MemberService, memberService(deps)),
    implementation(OrganizationService, organizationService(deps)),
    implementation(PolicyService, policyService(deps)),
    implementation(ProjectService, projectService(deps)),
    implementation(SessionService, sessionService(deps, config)),
    implementation(UserService, userService(deps, config)),
    implementation(UserGrantService, userGrantService(deps)),
  ];
}
