import { randomBytes } from "node:crypto";
import { link, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { dataFolderError, makeDataFolder } from "./data_folder.ts";
import { limitSettings } from "./limit_settings.ts";
import { mailAndSmsSettings } from "./mail_and_sms_settings.ts";
import {
  ConfigError,
  database,
  httpUrl,
  keys,
  milliseconds,
  oneOf,
  optionalPort,
  origins,
  pairs,
  parseKeys,
  processes,
  type SmtpUrl,
  share,
  someOf,
  subnets,
  text,
  token,
  whole,
} from "./setting.ts";
import { signInSettings } from "./sign_in_settings.ts";
import { strayNames } from "./stray_names.ts";
import { wideProxies } from "./wide_proxies.ts";

// Each process has a thread pool of four threads, which hashes but also serves files and DNS.
const hashesOf = (workers: number) => Math.min(availableParallelism(), 3 * workers);

// PostgreSQL allows 100 by default.
const connectionsOfWorkers = { each: 8, most: 64 };

const declared = {
  host: text("HOST", "127.0.0.1", "Address to listen on"),
  port: whole("PORT", 8080, "TCP port to listen on; 0 takes a free one", { least: 0, most: 65_535 }),
  portServes: someOf(
    "PORT_SERVES",
    ["metrics", "reflection", "docs", "console"],
    "What PORT serves in addition to operations, health and probes, separated by commas, or `none`",
  ),
  operationsPort: optionalPort(
    "OPERATIONS_PORT",
    "A second TCP port for operators: metrics, reflection, documentation, health and probes; empty opens none",
  ),
  publicUrl: httpUrl(
    "PUBLIC_URL",
    "",
    "URL at which clients call this instance: `https://identity.example.com`; if empty, the URL of each call",
  ),
  workers: processes(
    "WORKERS",
    Math.min(availableParallelism(), connectionsOfWorkers.most),
    "Number of processes that serve, or `auto` for one per core; they share the limits of this node",
  ),
  dataDir: text("POSTERN_DATA_DIR", "./data", "Folder for the embedded database and for generated keys and tokens"),
  databaseUrl: database(
    "DATABASE_URL",
    "PostgreSQL to use, `postgresql://…`, one host or several; empty starts the embedded one",
  ),
  migrationDatabaseUrl: database(
    "MIGRATION_DATABASE_URL",
    "The same database, with the role that may change its tables",
  ),
  databaseConnections: whole(
    "DATABASE_CONNECTIONS",
    16,
    "Maximum number of database connections of this node, including those for probes and long statements",
    { most: 1000, shown: "16, or 8 for each worker, 64 at most" },
  ),
  databaseWaitMs: milliseconds("DATABASE_WAIT_MS", 2_000, "Longest wait for a free connection; then UNAVAILABLE"),
  databaseStatementTimeoutMs: milliseconds("DATABASE_STATEMENT_TIMEOUT_MS", 10_000, "Maximum duration of a statement"),
  adminToken: token("POSTERN_ADMIN_TOKEN", "Token of the first administrator, set at the first start"),
  masterKeys: keys(
    "POSTERN_MASTER_KEY",
    "Keys that seal and sign: base64 of 32 bytes each, separated by commas, the current one first",
  ),
  logLevel: oneOf(
    "LOG_LEVEL",
    ["info", "silent", "fatal", "error", "warn", "debug", "trace"],
    "Lowest severity that is logged",
  ),
  logFormat: oneOf(
    "LOG_FORMAT",
    ["auto", "json", "pretty"],
    "JSON lines or readable lines; auto is readable on a terminal",
  ),
  metrics: oneOf("METRICS", ["on", "off"], "Whether `/metrics` shows anyone the number, duration and outcome of calls"),
  tracesBase: httpUrl(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "",
    "OpenTelemetry collector, such as `http://localhost:4318`; traces go to `/v1/traces` there; empty sends none",
  ),
  tracesUrl: httpUrl("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "", "The full URL for traces instead"),
  tracesProtocol: oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", ["http/protobuf"], "Protocol for sending traces"),
  tracesHeaders: pairs(
    "OTEL_EXPORTER_OTLP_HEADERS",
    "Headers that the collector requires, separated by commas: `name=value`, percent-encoded",
  ),
  serviceName: text(
    "OTEL_SERVICE_NAME",
    "",
    "Name of this service in traces; if empty, `service.name` from the next setting, or `postern`",
  ),
  resourceAttributes: pairs(
    "OTEL_RESOURCE_ATTRIBUTES",
    "Other attributes of the service, separated by commas: `name=value`",
  ),
  tracesSampler: oneOf(
    "OTEL_TRACES_SAMPLER",
    [
      ...(["parentbased_traceidratio", "parentbased_always_on", "parentbased_always_off"] as const),
      ...(["traceidratio", "always_on", "always_off"] as const),
    ],
    "Which calls are traced; `parentbased` follows the caller's `traceparent`",
  ),
  tracesRatio: share("OTEL_TRACES_SAMPLER_ARG", 1, "Share of calls that `traceidratio` traces, from 0 to 1"),
  ...signInSettings,
  idempotencyRetentionSeconds: whole(
    "IDEMPOTENCY_RETENTION_SECONDS",
    86_400,
    "How long repeated writes with the same idempotency key get the first response",
  ),
  accessTokenLifetimeMaxSeconds: whole(
    "ACCESS_TOKEN_LIFETIME_MAX_SECONDS",
    0,
    "Maximum lifetime of an access token; if set, new tokens must have an expiration date; 0 means no limit",
    { least: 0 },
  ),
  trustedProxies: subnets(
    "TRUSTED_PROXIES",
    "Proxies that name their clients with PROXY protocol 2 or `x-forwarded-for`: `10.0.0.5` or `10.0.0.0/8`, separated by commas",
  ),
  ...limitSettings,
  http2: oneOf(
    "HTTP2",
    ["own", "node"],
    "Implementation of HTTP/2: our own, or Node's, which is slower but available if ours turns out to have a flaw",
  ),
  corsOrigins: origins(
    "CORS_ORIGINS",
    "Origins whose pages may call from a browser, separated by commas: `https://app.example`, or `*` for any",
  ),
  tlsCertFile: text("TLS_CERT_FILE", "", "Certificate chain in PEM; if set, the port serves TLS; SIGHUP reloads it"),
  tlsKeyFile: text("TLS_KEY_FILE", "", "Private key of the certificate in PEM"),
  shutdownDelayMs: milliseconds(
    "SHUTDOWN_DELAY_MS",
    0,
    "Time at shutdown in which `/readyz` is 503 and calls are still accepted, so that a load balancer notices",
    0,
  ),
  shutdownGraceMs: milliseconds("SHUTDOWN_GRACE_MS", 10_000, "Time for running calls to finish at shutdown", 0),
  deadlineMaxMs: milliseconds("DEADLINE_MAX_MS", 60_000, "Longest deadline that a caller can set"),
  hashConcurrency: whole(
    "HASH_CONCURRENCY",
    hashesOf(1),
    "Concurrent password hashes, at lower priority than everything else",
    {
      most: 1024,
      shown: "cores, 3 for each worker at most",
    },
  ),
  hashQueue: whole("HASH_QUEUE", 64, "Password checks that may wait; then RESOURCE_EXHAUSTED", { least: 0 }),
  hashMemoryKib: whole("HASH_MEMORY_KIB", 19_456, "Memory of one argon2id hash, in KiB", { least: 8, most: 4_194_304 }),
  hashIterations: whole("HASH_ITERATIONS", 2, "Passes of one argon2id hash", { most: 1000 }),
  hashParallelism: whole("HASH_PARALLELISM", 1, "Lanes of one argon2id hash", { most: 255 }),
  chosenIds: oneOf(
    "CHOSEN_IDS",
    ["administrators", "instance_owners"],
    "Who may choose the id of a new user or client: every administrator who may create one, or only owners of the instance",
  ),
  ...mailAndSmsSettings,
  cacheSeconds: whole("CACHE_SECONDS", 5, "How long callers and machines are cached; 0 disables the caches", {
    least: 0,
  }),
};

/** All settings of the process, read once and frozen. */
export type Config = { readonly [K in keyof typeof declared]: ReturnType<(typeof declared)[K]["read"]> };

/** The rows of the settings table in docs/settings.md, from the same declaration. */
export const settings: readonly Readonly<{ name: string; meaning: string; default: string }>[] = Object.values(
  declared,
).map(({ name, meaning, default: fallback }) => ({ name, meaning, default: fallback }));

/** Warnings about variables that look like settings but are not, and about settings broader than anybody intends. */
export function settingWarnings(env: NodeJS.ProcessEnv = process.env): readonly string[] {
  const { trustedProxies } = declared;
  return [
    ...strayNames(
      env,
      settings.map(({ name }) => name),
    ),
    ...wideProxies(trustedProxies.read(env[trustedProxies.name]?.trim() ?? "")),
  ];
}

/** Reads all settings from the environment, or throws a ConfigError that names the invalid one. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const entries = Object.entries(declared).map(([key, setting]) => [
    key,
    setting.read(env[setting.name]?.trim() ?? ""),
  ]);
  const read = Object.fromEntries(entries) as Config;
  const databaseConnections = env.DATABASE_CONNECTIONS?.trim() ? read.databaseConnections : connectionsFor(read);
  const hashConcurrency = env.HASH_CONCURRENCY?.trim() ? read.hashConcurrency : hashesOf(read.workers);
  const config = Object.freeze({ ...read, databaseConnections, hashConcurrency });
  // The driver would read it, and check each new connection with a statement whose failure nobody catches.
  if (env.PGTARGETSESSIONATTRS)
    throw new ConfigError("PGTARGETSESSIONATTRS has no effect: put target_session_attrs into DATABASE_URL");
  if (config.migrationDatabaseUrl && !config.databaseUrl)
    throw new ConfigError(
      "MIGRATION_DATABASE_URL is set without DATABASE_URL: it is for another role in the database of DATABASE_URL",
    );
  if (config.databaseUrl && config.masterKeys.length === 0)
    throw new ConfigError(
      "POSTERN_MASTER_KEY is required with DATABASE_URL: create one with `openssl rand -base64 32`",
    );
  if (!config.tlsCertFile !== !config.tlsKeyFile)
    throw new ConfigError(
      "TLS_CERT_FILE and TLS_KEY_FILE must be set together: a certificate is useless without its key",
    );
  if (databaseConnections < config.workers)
    throw new ConfigError(
      `DATABASE_CONNECTIONS is ${databaseConnections}, too few for ${config.workers} processes: increase it, or reduce WORKERS`,
    );
  smsOf(config);
  mailOf(config);
  return config;
}

function connectionsFor({ workers, databaseConnections }: Config): number {
  const { each, most } = connectionsOfWorkers;
  return Math.max(databaseConnections, Math.min(most, each * workers));
}

/** The settings of the SMS sender, or a ConfigError that names a missing one. */
export function smsOf(config: Config) {
  const need = <T>(name: string, value: T | undefined): T => {
    if (value) return value;
    throw new ConfigError(`${name} is required with SMS_SENDER=${config.smsSender}`);
  };
  switch (config.smsSender) {
    case "log":
      return { kind: "log", file: join(config.dataDir, "sms.log") } as const;
    case "webhook": {
      const url = need("SMS_WEBHOOK_URL", config.smsWebhookUrl);
      return { kind: "webhook", url, secret: need("SMS_WEBHOOK_SECRET", config.smsWebhookSecret) } as const;
    }
    case "twilio": {
      const account = need("SMS_TWILIO_ACCOUNT_SID", config.smsTwilioAccountSid);
      const password = need("SMS_TWILIO_AUTH_TOKEN", config.smsTwilioAuthToken);
      const from = need("SMS_TWILIO_FROM", config.smsTwilioFrom);
      return { kind: "twilio", url: config.smsTwilioUrl ?? "", account, password, from } as const;
    }
  }
}

/** The settings of the mail sender, or a ConfigError that names a missing one. */
export function mailOf(config: Config) {
  const need = <T>(name: string, value: T | undefined): T => {
    if (value) return value;
    throw new ConfigError(`${name} is required with MAIL_SENDER=${config.mailSender}`);
  };
  switch (config.mailSender) {
    case "log":
      return { kind: "log", file: join(config.dataDir, "mail.log") } as const;
    case "webhook": {
      const url = need("MAIL_WEBHOOK_URL", config.mailWebhookUrl);
      return { kind: "webhook", url, secret: need("MAIL_WEBHOOK_SECRET", config.mailWebhookSecret) } as const;
    }
    case "smtp": {
      const server = need("MAIL_SMTP_URL", config.mailSmtpUrl);
      const from = need("MAIL_FROM", config.mailFrom);
      const { mailTimeoutMs: timeoutMs } = config;
      const caFile = config.mailSmtpCaFile || undefined;
      return { kind: "smtp", ...server, encryption: encryptionOf(config, server), caFile, from, timeoutMs } as const;
    }
  }
}

function encryptionOf({ mailSmtpStarttls }: Config, { tls, auth }: SmtpUrl): "tls" | "starttls" | "none" {
  if (tls) return "tls";
  if (mailSmtpStarttls === "required") return "starttls";
  if (!auth) return "none";
  throw new ConfigError(
    "MAIL_SMTP_STARTTLS=off would send the password in MAIL_SMTP_URL unencrypted: remove one of the two",
  );
}

/** The settings of tracing: collector, resource and sampler; undefined if tracing is off. */
export function tracesOf(config: Config) {
  const url = config.tracesUrl ?? (config.tracesBase && `${config.tracesBase.replace(/\/+$/, "")}/v1/traces`);
  if (!url) return undefined;
  const named = config.serviceName ? { "service.name": config.serviceName } : {};
  const resource = { "service.name": "postern", ...config.resourceAttributes, ...named };
  const { tracesHeaders: headers, tracesSampler: sampler, tracesRatio: ratio } = config;
  return { collector: { url, headers, resource }, sampler, ratio };
}

/** The keys that seal and sign, the current one first. With the embedded database, one is generated in its folder. */
export async function masterKeys(config: Config): Promise<readonly Buffer[]> {
  if (config.masterKeys.length > 0) return config.masterKeys;
  const path = join(config.dataDir, "master-key");
  await makeDataFolder(config.dataDir);
  try {
    await generateOnce(path);
    return parseKeys(path, (await readFile(path, "utf8")).trim());
  } catch (error) {
    throw error instanceof ConfigError ? error : dataFolderError(config.dataDir, error);
  }
}

// The file appears complete or not at all: a crash must not leave an empty key behind.
async function generateOnce(path: string): Promise<void> {
  if (await stat(path).catch(() => undefined)) return;
  const draft = `${path}.${randomBytes(4).toString("hex")}`;
  await writeFile(draft, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600, flag: "wx", flush: true });
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await unlink(draft);
}
