import { createRegistry } from "@bufbuild/protobuf";
import { type ContextValues, createContextValues } from "@connectrpc/connect";
import type { ConnectNodeAdapterOptions } from "@connectrpc/connect-node";
import {
  type CallMetrics,
  callMetrics,
  clientAddresses,
  clientAddressOf,
  doorOf,
  type Family,
  gateway,
  type HttpRoute,
  type Listening,
  metricsRoute,
  networkOf,
  operationsOf,
  type ProcessMetrics,
  processMetrics,
  type RequestGate,
  readiness,
  reference,
  seldom,
  standardServices,
} from "@postern/gateway";
import type { Logger } from "pino";
import { file_google_rpc_error_details } from "../gen/google/rpc/error_details_pb.ts";
import { watchPasswordFile } from "./admin_files.ts";
import { bootstrapInstance } from "./bootstrap.ts";
import { type Config, mailOf, smsOf, tracesOf } from "./config.ts";
import { apiOptions } from "./contract/api.ts";
import { describe, describeAll } from "./contract/describe.ts";
import { contractBounds } from "./contract/field_bounds.ts";
import { type Call, keys } from "./deps.ts";
import { inOurWords, type MessageRule } from "./errors.ts";
import { unsettledSeconds } from "./events/follow.ts";
import { expiredRecords, startSweep } from "./events/sweep.ts";
import { forAdapter } from "./guards/adapter.ts";
import { gate } from "./guards/authenticate.ts";
import { type Capacity, capacity } from "./guards/capacity.ts";
import { guards } from "./guards/guards.ts";
import type { Lookups } from "./guards/holding.ts";
import { type RateLimits, rateLimits } from "./guards/rate_limits.ts";
import { remember } from "./guards/remember.ts";
import { type Report, report } from "./guards/report.ts";
import { messageRules } from "./guards/validate.ts";
import { chooseLanguage } from "./messages/catalogue.ts";
import { type InstanceLoad, instanceFamilies } from "./metrics/instance.ts";
import { mailChores, mailHealth } from "./notify/mail_outbox.ts";
import { mailSender } from "./notify/mail_sender.ts";
import { startMailWorker } from "./notify/mail_worker.ts";
import { smsChores, smsHealth } from "./notify/outbox.ts";
import { smsSender } from "./notify/sender.ts";
import { startSmsWorker } from "./notify/worker.ts";
import { listenForOperators } from "./operations.ts";
import { isStatementTimeout, isUnavailable } from "./postgres/failure.ts";
import { preflight } from "./preflight.ts";
import { routesOf, services } from "./routes.ts";
import { createLogger, openRuntime, type Runtime } from "./runtime.ts";
import { hashBehindOthers } from "./security/priority.ts";
import { applicationRules } from "./services/application.ts";
import { applicationKeyRules } from "./services/application_key.ts";
import * as lookups from "./services/caller_lookups.ts";
import { deletedOrganizations } from "./services/delete_organization.ts";
import { eventRules } from "./services/event.ts";
import { expiryChores } from "./services/expiry.ts";
import { lateRules } from "./services/late_rules.ts";
import { sendsMail } from "./services/mail_code.ts";
import { memberRules } from "./services/member.ts";
import { organizationRules } from "./services/organization.ts";
import { accountRules } from "./services/password_reset.ts";
import { startPasswordResets } from "./services/password_reset_worker.ts";
import { sendsCode } from "./services/phone_code.ts";
import { policyRules } from "./services/policy.ts";
import { projectRules } from "./services/project.ts";
import { projectGrantRules } from "./services/project_grant.ts";
import { projectRoleRules } from "./services/project_role.ts";
import { sessionRules } from "./services/session.ts";
import { applicationUpdateRules } from "./services/update_application.ts";
import { userRules } from "./services/user.ts";
import { userGrantRules } from "./services/user_grant.ts";
import type { Tracing } from "./tracing/tracing.ts";
import { welcomeTo } from "./welcome.ts";

/** A service that answers. */
export type Server = AsyncDisposable & {
  readonly url: string;
  /** The port for operators, if there is one. */
  readonly operationsUrl: string | undefined;
  /** Whether this start created the first organization. */
  readonly isFirst: boolean;
  /** Lines for people: what was made, where everything is, and at the first start the calls to begin with. */
  readonly welcome: readonly string[];
  /** Logs the error that ends the process, and fails the calls that wait for the database with UNAVAILABLE. */
  readonly fail: (error: unknown) => Promise<void>;
};

/** Starts the server: database, tables, the port, the first organization, background work. */
export async function startServer(config: Config): Promise<Server> {
  await preflight(config);
  await using opened = new AsyncDisposableStack();
  const logger = createLogger(config);
  const tracing = await startTracing(config, logger);
  if (tracing) opened.use(tracing);
  const runtime = opened.use(await openRuntime(config, { logger, observe: tracing?.statement }));
  await hashBehindOthers();
  const ownProcess = config.metrics === "on" ? opened.use(processMetrics()) : undefined;
  let bootstrapped = false;
  const listening = opened.use(
    await listen(runtime, config, { ownProcess, tracing, isBootstrapped: () => bootstrapped }),
  );
  opened.use(reloadOnHangUp(listening, logger));
  const { url, operationsUrl } = listening;
  // Listening comes first: a port that was taken meanwhile must stop the start before anything is created.
  const isFirst = await bootstrapInstance(runtime, config);
  bootstrapped = true;
  opened.use(watchPasswordFile(runtime, config));
  opened.use(startErrands(runtime, config));
  const welcome = await welcomeTo(runtime, config, { isFirst, url, operationsUrl });
  if (runtime.database.note) logger.info(runtime.database.note);
  logger.info({ url, operationsUrl }, "listening");
  // The port is disposed of first: a node that stops is not ready, whatever its errands still wait for.
  opened.defer(() => listening[Symbol.asyncDispose]());
  const fail = failing(runtime, listening);
  const stack = opened.move();
  return { url, operationsUrl, isFirst, welcome, fail, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

// Statements that were sent when the process failed may run on for this long.
const lastGraceMs = 500;

function failing({ logger, refuse }: Runtime, listening: AsyncDisposable) {
  let failed: Promise<void> | undefined;
  const end = () => Promise.allSettled([listening[Symbol.asyncDispose](), refuse(lastGraceMs)]).then(() => {});
  return (error: unknown) => {
    logger.fatal({ err: error }, "the process ends: nothing handles this error");
    logger.flush();
    // The reason goes to standard error even where LOG_LEVEL silences the log: a silent end is worse.
    if (!logger.isLevelEnabled("fatal"))
      process.stderr.write(`postern: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    failed ??= end();
    return failed;
  };
}

/** Starts tracing if the settings ask for it; without it, the modules of tracing are never loaded. */
async function startTracing(config: Config, logger: Logger): Promise<Tracing | undefined> {
  const traces = tracesOf(config);
  if (!traces) return undefined;
  const { openTracing } = await import("./tracing/tracing.ts");
  const onError = (error: unknown) => logger.warn({ err: error }, "the collector does not take spans");
  return openTracing({ ...traces, onError });
}

/** Reads the certificate again on SIGHUP. */
function reloadOnHangUp({ reload }: Pick<Listening, "reload">, logger: Logger): Disposable {
  const again = () =>
    reload().then(
      () => logger.info("certificate read again"),
      (error) => logger.error({ err: error }, "the certificate cannot be read; the old one stays"),
    );
  process.on("SIGHUP", again);
  return { [Symbol.dispose]: () => void process.off("SIGHUP", again) };
}

/** Starts the background work: SMS and mails are delivered, expired data is deleted. */
function startErrands(runtime: Runtime, config: Config): AsyncDisposable {
  const { deps, logger } = runtime;
  const { sql, clock } = deps;
  const onError = (error: unknown, errand: string) =>
    logger.warn({ err: error, errand }, "an errand failed; trying again");
  const errands = new AsyncDisposableStack();
  const chores = [
    expiredRecords(sql, clock, config),
    ...smsChores({ sql, clock }),
    ...mailChores({ sql }),
    ...expiryChores(deps, config),
    deletedOrganizations(deps),
  ];
  errands.use(startSweep({ sql, chores, clock, onError }));
  errands.use(deliverSms(runtime, config, (error) => onError(error, "sms")));
  errands.use(deliverMails(runtime, config, (error) => onError(error, "mail")));
  errands.use(startPasswordResets(deps, config, (error) => onError(error, "password resets")));
  return errands;
}

type OnError = (error: unknown) => void;

function deliverSms({ deps, onAppended, logger }: Runtime, config: Config, onError: OnError): AsyncDisposable {
  return startSmsWorker({
    sql: deps.sql,
    clock: deps.clock,
    keyring: deps.secrets.keyring,
    sender: smsSender(smsOf(config), deps.clock),
    onWritten: (look) =>
      onAppended((facts) => {
        if (facts.some(sendsCode)) look();
      }),
    text: config.smsText,
    attempts: config.smsAttempts,
    timeoutMs: config.smsTimeoutMs,
    onDelivery: ({ id, userId, attempts }, delivery) => logger.info({ sms: id, userId, attempts, ...delivery }, "sms"),
    onError,
  });
}

function deliverMails({ deps, onAppended, logger }: Runtime, config: Config, onError: OnError): AsyncDisposable {
  return startMailWorker({
    sql: deps.sql,
    clock: deps.clock,
    keyring: deps.secrets.keyring,
    sender: mailSender(mailOf(config), deps.clock),
    onWritten: (look) =>
      onAppended((facts) => {
        if (facts.some(sendsMail)) look();
      }),
    codeUrl: config.passwordCodeUrl,
    attempts: config.mailAttempts,
    timeoutMs: config.mailTimeoutMs,
    onDelivery: ({ id, userId, attempts }, delivery) =>
      logger.info({ mail: id, userId, attempts, ...delivery }, "mail"),
    onError,
  });
}

type Observability = {
  readonly ownProcess: ProcessMetrics | undefined;
  readonly tracing: Tracing | undefined;
  /** Whether the first administrator exists; until then the node is not ready. */
  readonly isBootstrapped: () => boolean;
};

/** Opens the ports. The one for operators is closed last, so that metrics are there until then. */
async function listen(runtime: Runtime, config: Config, observability: Observability) {
  const shown = shownBy(runtime, observability);
  const { lines, quietLines, ready } = shown;
  const limits = rateLimits(config);
  const stopping = new AbortController();
  const listening = portOptions(runtime, config);
  await using opened = new AsyncDisposableStack();
  const operations = await listenForOperators(config, {
    ready: async () => !stopping.signal.aborted && (await ready()),
    lines: quietLines,
    httpRoutes: [...shown.docs, ...shown.metrics],
    ids: runtime.deps.ids,
    listening,
  });
  if (operations) opened.use(operations);
  const served = gateway({
    ...serviceOptions(runtime, config, { lines, limits }),
    standard: { interceptors: [quietLines.interceptor], requestGate: quietLines.atGate(standardGate(limits)) },
    onError: lines.onError,
    refuse: inOurWords,
    limits: config,
    limitsOf: (method) => describe(method).limits,
    bounds: contractBounds,
    responseHeaders: headersOf,
    corsOrigins: config.corsOrigins,
    ready,
    stopping,
    ...publicParts(config, shown, limits),
  });
  const port = opened.use(
    await served.listen({ ...listening, port: config.port, trustedProxies: config.trustedProxies }),
  );
  const stack = opened.move();
  return {
    url: port.url,
    operationsUrl: operations?.url,
    reload: async () => void (await Promise.all([port.reload(), operations?.reload()])),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The parts of a node that operators look at: lines of the log, readiness, documents and metrics. */
function shownBy(runtime: Runtime, { ownProcess, tracing, isBootstrapped }: Observability) {
  const { logger } = runtime;
  const calls = ownProcess && callMetrics([...services, ...standardServices], "postern");
  const trace = tracing && tracerOf(tracing, operationsOf(services));
  // Probes come every second: successful ones are counted, but not logged.
  const quiet = logger.child({}, { level: logger.isLevelEnabled("info") ? "warn" : logger.level });
  const ready = readiness(async () => isBootstrapped() && (await runtime.isWritable()));
  // Scrapers are not authenticated, and the load queries the database: at most once a second.
  const load = seldom(() => loadOf(runtime, ready, tracing), 1000);
  const rpcs = describeAll(services);
  return {
    lines: report({ logger, languageOf: chooseLanguage, trace, observe: calls?.observe }),
    quietLines: report({ logger: quiet, languageOf: chooseLanguage, observe: calls?.observe }),
    ready,
    docs: reference(() => apiOptions(rpcs)),
    metrics: calls ? [metricsRoute(async () => families(calls, await load(), ownProcess))] : [],
  };
}

type Documents = Readonly<Record<"docs" | "metrics", readonly HttpRoute[]>>;

/** What the port of the operations serves besides them. */
function publicParts({ portServes }: Config, { docs, metrics }: Documents, limits: RateLimits) {
  const documents = [...(portServes.includes("docs") ? docs : []), ...(portServes.includes("metrics") ? metrics : [])];
  return {
    openapi: false as const,
    reflection: portServes.includes("reflection") ? services : (false as const),
    httpRoutes: documents.map((route) => limitedRoute(route, limits)),
  };
}

const portOptions = ({ logger }: Runtime, { host, http2, tlsCertFile, tlsKeyFile }: Config) => ({
  host,
  http2,
  onFault: (error: unknown) => logger.error({ err: error }, "an internal error ended a connection"),
  certificate: tlsCertFile ? { certFile: tlsCertFile, keyFile: tlsKeyFile } : undefined,
});

/** The headers of every response: the id of the request, and the limit of calls that is near. */
function headersOf(values: ContextValues): Readonly<Record<string, string>> {
  const near = values.get(keys.rateLimit);
  const requestId = values.get(keys.requestId);
  return near ? { "x-request-id": requestId, ...near.fields } : { "x-request-id": requestId };
}

/** The gate of health and reflection. Balancers ask for health: no client may use that up, whatever its address. */
const standardGate =
  (limits: RateLimits): RequestGate =>
  ({ service, values }) => {
    if (service.typeName !== "grpc.health.v1.Health") limits.ofNetwork(values.get(keys.network), values);
  };

/** A route that counts as a call of its client's address. */
const limitedRoute = (route: HttpRoute, limits: RateLimits): HttpRoute => ({
  ...route,
  handle(request) {
    limits.ofNetwork(request.network);
    return route.handle(request);
  },
});

function families(calls: CallMetrics, load: InstanceLoad, ownProcess: ProcessMetrics): readonly Family[] {
  return [...calls.families(), ...instanceFamilies(load), ...ownProcess.families()];
}

type Lines = { readonly lines: Report; readonly limits: RateLimits };

/** The services with their gate, interceptors and context values, in the form that the adapters of Connect take. */
function serviceOptions(runtime: Runtime, config: Config, { lines, limits }: Lines) {
  return {
    ...guarded(runtime, {
      declared: declaredRules(runtime, config),
      report: lines,
      limits,
      capacity: capacity(config.callsMax),
    }),
    routes: routesOf(runtime, config),
    contextValues: ({ network }: { readonly network: string | undefined }) =>
      createContextValues().set(keys.requestId, runtime.deps.ids()).set(keys.network, network),
  };
}

/** Options that serve the instance through `connectNodeAdapter` instead of the gateway. */
export function adapterOptions(runtime: Runtime, config: Config): ConnectNodeAdapterOptions {
  const lines = report({ logger: runtime.logger, languageOf: chooseLanguage });
  const { routes, contextValues, ...adapterGuards } = serviceOptions(runtime, config, {
    lines,
    limits: rateLimits(config),
  });
  const addresses = clientAddresses(config.trustedProxies);
  const networkFrom = (peer: string | undefined, headers: Readonly<Record<string, string | string[] | undefined>>) => {
    const address = clientAddressOf(addresses, peer, headers["x-forwarded-for"]?.toString());
    return address === undefined ? undefined : networkOf(address);
  };
  return {
    ...forAdapter(adapterGuards, lines),
    routes,
    contextValues: ({ socket, headers }) => contextValues({ network: networkFrom(socket.remoteAddress, headers) }),
    jsonOptions: { alwaysEmitImplicit: true, registry: createRegistry(file_google_rpc_error_details) },
  };
}

type GuardedOptions = Readonly<{
  declared: readonly MessageRule[];
  report: Report;
  limits: RateLimits;
  capacity: Capacity;
}>;

/** The gate that finds the caller, and the interceptors between the gate and the handler. */
export function guarded(runtime: Runtime, { declared, report, limits, capacity: bound }: GuardedOptions) {
  const { callers, deps } = runtime;
  const known = { callers, limits };
  const rules = messageRules(declared);
  const outages = { isUnavailable, isStatementTimeout };
  const interceptors = guards({
    report,
    known,
    capacity: bound,
    rules,
    declared,
    late: lateRules(deps),
    lookups: lookupsOf(runtime),
    outages,
    idempotency: { recordOf: lookups.doneBeforeRead(deps.sql), keyring: deps.secrets.keyring, clock: deps.clock },
  });
  return { rules, interceptors, requestGate: report.atGate(bound.gated(gate(known, outages))) };
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
  { databaseLoad, deps, tail }: Runtime,
  ready: () => Promise<boolean>,
  tracing: Tracing | undefined,
): Promise<InstanceLoad> {
  const [isReady, sms, mail, unsettled] = await Promise.all([
    ready(),
    smsHealth(deps.sql).catch(() => undefined),
    mailHealth(deps.sql).catch(() => undefined),
    unsettledSeconds(deps.sql).catch(() => 0),
  ]);
  const { running, waiting } = deps.secrets.passwords.load();
  return {
    ready: isReady,
    sms,
    mail,
    database: databaseLoad(),
    hashing: { running, waiting },
    logBehindSeconds: Math.max(tail.behindMs() / 1000, unsettled),
    spans: tracing?.load(),
  };
}

/** Lookups of owners are cached, since owners never change; login names and memberships change, and are read each time. */
function lookupsOf(runtime: Runtime): Lookups {
  const { instanceId, deps } = runtime;
  const { sql } = deps;
  const deleted = deletedSince(runtime);
  const exists = remember(lookups.organizationExistsRead(sql));
  const ownerOfUser = remember(lookups.ownerOfUserRead(sql), 1_000_000);
  const userOfSession = remember(lookups.userOfSessionRead(sql));
  return {
    instanceId,
    organizationExists: async (id) => (await exists(id)) === true && !deleted.has(id),
    async ownerOfUser(id) {
      const owner = await ownerOfUser(id);
      return owner !== undefined && deleted.has(owner) ? undefined : owner;
    },
    async userOfSession(id) {
      const found = await userOfSession(id);
      return found && deleted.has(found.owner) ? undefined : found;
    },
    userOfLoginName: lookups.userOfLoginNameRead(sql),
    userGrant: remember(lookups.userGrantPlaceRead(sql)),
    membershipsOf: lookups.membershipsRead(sql),
  };
}

/** The organizations that were deleted since the start, on any node: nothing that is cached counts for them. */
function deletedSince({ tail, onAppended }: Runtime): ReadonlySet<string> {
  const deleted = new Set<string>();
  const note = (type: string, stream: string) => {
    if (type === "organization.deleted") deleted.add(stream);
  };
  tail.listen((events) => events.forEach(({ type, stream }) => void note(type, stream)));
  onAppended((facts) => facts.forEach(({ type, at }) => void note(type, at.stream)));
  return deleted;
}

/** The cross-field rules of every service; rules of one field are options in the proto. */
function declaredRules({ deps }: Runtime, config: Config): MessageRule[] {
  return [
    ...accountRules,
    ...[applicationRules, applicationUpdateRules, applicationKeyRules].flat(),
    ...eventRules,
    ...memberRules,
    ...organizationRules,
    ...policyRules,
    ...[projectRules, projectGrantRules, projectRoleRules].flat(),
    ...sessionRules,
    ...userRules(deps, config),
    ...userGrantRules,
  ];
}
