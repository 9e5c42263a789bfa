import { randomBytes } from "node:crypto";
import { link, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { dataFolderError, makeDataFolder } from "./data_folder.ts";
import { wideProxies } from "./private_ranges.ts";
import {
  ConfigError,
  codeUrl,
  database,
  httpUrl,
  keys,
  longestTimer,
  mailbox,
  milliseconds,
  oneOf,
  optionalPort,
  origins,
  pairs,
  parseKeys,
  processes,
  region,
  type SmtpUrl,
  share,
  smsText,
  smtpUrl,
  someOf,
  subnets,
  text,
  token,
  webhookSecret,
  whole,
} from "./setting.ts";
import { strayNames } from "./setting_names.ts";
import { signInSettings } from "./sign_in_settings.ts";

// The thread pool of each process, which hashes, also serves files and DNS and has four threads.
const hashesOf = (workers: number) => Math.min(availableParallelism(), 3 * workers);

// PostgreSQL takes 100 unless it is set otherwise.
const connectionsOfWorkers = { each: 8, most: 64 };

const perMinute = { least: 0, most: 60_000_000 };

const declared = {
  host: text("HOST", "127.0.0.1", "Address to listen on"),
  port: whole("PORT", 8080, "TCP port to listen on; 0 takes a free one", { least: 0, most: 65_535 }),
  portServes: someOf(
    "PORT_SERVES",
    ["metrics", "reflection", "docs"],
    "What PORT serves besides operations, health and probes, separated by commas, or `none`",
  ),
  operationsPort: optionalPort(
    "OPERATIONS_PORT",
    "A second TCP port, for operators: metrics, reflection, documents, health and probes; empty opens none",
  ),
  publicUrl: httpUrl(
    "PUBLIC_URL",
    "",
    "URL by which clients call this instance: `https://identity.example.com`; empty takes the one of each call",
  ),
  workers: processes(
    "WORKERS",
    Math.min(availableParallelism(), connectionsOfWorkers.most),
    "Processes that serve, or `auto` for one on each core; the limits of this node are divided among them",
  ),
  dataDir: text("POSTERN_DATA_DIR", "./data", "Folder of the embedded database and of the generated keys and tokens"),
  databaseUrl: database(
    "DATABASE_URL",
    "PostgreSQL to use, `postgresql://…`, one host or several; empty starts the embedded one",
  ),
  migrationDatabaseUrl: database("MIGRATION_DATABASE_URL", "The same database as the role that may change its tables"),
  databaseConnections: whole(
    "DATABASE_CONNECTIONS",
    16,
    "Connections to the database that this node takes at most, those for probes and for long statements included",
    { most: 1000, shown: "16, or 8 for each worker, 64 at most" },
  ),
  databaseWaitMs: milliseconds("DATABASE_WAIT_MS", 2_000, "Longest wait for a free connection, then UNAVAILABLE"),
  databaseStatementTimeoutMs: milliseconds("DATABASE_STATEMENT_TIMEOUT_MS", 10_000, "Longest run of one statement"),
  adminToken: token("POSTERN_ADMIN_TOKEN", "Token of the first administrator, set at the first start"),
  masterKeys: keys(
    "POSTERN_MASTER_KEY",
    "Keys that seal and sign: base64 of 32 bytes each, separated by commas, the current one first",
  ),
  logLevel: oneOf(
    "LOG_LEVEL",
    ["info", "silent", "fatal", "error", "warn", "debug", "trace"],
    "Least severe log line to write",
  ),
  logFormat: oneOf(
    "LOG_FORMAT",
    ["auto", "json", "pretty"],
    "JSON lines, or pretty ones; auto is pretty on a terminal",
  ),
  metrics: oneOf(
    "METRICS",
    ["on", "off"],
    "Whether `/metrics` shows to anyone the number, the duration and the outcome of calls",
  ),
  tracesBase: httpUrl(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "",
    "Collector of OpenTelemetry, such as `http://localhost:4318`; traces go to `/v1/traces` there; empty sends none",
  ),
  tracesUrl: httpUrl("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "", "The whole URL that traces go to instead"),
  tracesProtocol: oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", ["http/protobuf"], "How traces are sent"),
  tracesHeaders: pairs(
    "OTEL_EXPORTER_OTLP_HEADERS",
    "Headers that the collector requires, separated by commas: `name=value`, percent-encoded",
  ),
  serviceName: text(
    "OTEL_SERVICE_NAME",
    "",
    "Name of this service in traces; else `service.name` of the next, else `postern`",
  ),
  resourceAttributes: pairs(
    "OTEL_RESOURCE_ATTRIBUTES",
    "Further attributes of the service, separated by commas: `name=value`",
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
    "How long a repeated write gets the answer of the first one with its idempotency key",
  ),
  accessTokenLifetimeMaxSeconds: whole(
    "ACCESS_TOKEN_LIFETIME_MAX_SECONDS",
    0,
    "Longest life of an access token, which then has to be asked for with an end; 0 sets no limit",
    { least: 0 },
  ),
  signInFailuresPerAddressPerMinute: whole(
    "SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE",
    100,
    "Failed sign-ins from one address, of IPv6 one /64, on this node, then PASSWORD_ATTEMPTS, and as many wrong codes for passwords; 0 sets no limit",
    { least: 0, most: 60_000 },
  ),
  passwordResetsPerAddressPerMinute: whole(
    "PASSWORD_RESETS_PER_ADDRESS_PER_MINUTE",
    20,
    "Requests for a new password from one address, of IPv6 one /64, on this node, then RATE_LIMIT; 0 sets no limit",
    { least: 0, most: 60_000 },
  ),
  callsPerAddressPerMinute: whole(
    "CALLS_PER_ADDRESS_PER_MINUTE",
    300_000,
    "Calls from one address, of IPv6 one /64, on this node, then RATE_LIMIT; 0 sets no limit",
    perMinute,
  ),
  callsPerCallerPerMinute: whole(
    "CALLS_PER_CALLER_PER_MINUTE",
    300_000,
    "Calls of one user on this node, then RATE_LIMIT; 0 sets no limit",
    perMinute,
  ),
  callsPerOrganizationPerMinute: whole(
    "CALLS_PER_ORGANIZATION_PER_MINUTE",
    600_000,
    "Calls of the users of one organization on this node, then RATE_LIMIT; 0 sets no limit",
    perMinute,
  ),
  unknownTokensPerAddressPerMinute: whole(
    "UNKNOWN_TOKENS_PER_ADDRESS_PER_MINUTE",
    6_000,
    "Unknown tokens from one address on this node, then none is looked up, and RATE_LIMIT; 0 sets no limit",
    perMinute,
  ),
  trustedProxies: subnets(
    "TRUSTED_PROXIES",
    "Proxies that name their clients by PROXY protocol 2 or `x-forwarded-for`: `10.0.0.5` or `10.0.0.0/8`, separated by commas",
  ),
  messageMaxBytes: whole(
    "MESSAGE_MAX_BYTES",
    4_194_304,
    "Largest message that any rpc takes, also after decompression",
    { least: 1024 },
  ),
  bodiesMaxBytes: whole(
    "BODIES_MAX_BYTES",
    67_108_864,
    "Request bodies held at once; one caller a quarter at most, unknown callers together as much, one network a sixteenth",
    { least: 8_388_608 },
  ),
  callsMax: whole(
    "CALLS_MAX",
    1000,
    "Calls that this node works on at once, then OVERLOADED; streams and slow bodies are not counted",
  ),
  streamsPerCallerMax: whole(
    "STREAMS_PER_CALLER_MAX",
    200,
    "Streams of events of one user open at once on this node, then OVERLOADED",
    { most: longestTimer },
  ),
  unknownStreamsMax: whole(
    "UNKNOWN_STREAMS_MAX",
    2048,
    "Streams of health and reflection open at once without a token; one network half of them",
    { least: 2, most: longestTimer },
  ),
  headersMaxBytes: whole("HEADERS_MAX_BYTES", 16_384, "Largest set of request headers", { least: 1024 }),
  headerTimeoutMs: milliseconds("HEADER_TIMEOUT_MS", 10_000, "Longest wait for complete request headers"),
  bodyTimeoutMs: milliseconds("BODY_TIMEOUT_MS", 30_000, "Longest wait for a complete request body"),
  idleTimeoutMs: milliseconds("IDLE_TIMEOUT_MS", 300_000, "A connection without a call is closed after this long"),
  streamsMax: whole("STREAMS_MAX", 128, "Calls at once on one connection of HTTP/2", { most: longestTimer }),
  connectionAgeMs: milliseconds(
    "CONNECTION_AGE_MS",
    3_600_000,
    "A connection takes no new calls after about this long; 0 never",
    0,
  ),
  http2: oneOf(
    "HTTP2",
    ["own", "node"],
    "Implementation of HTTP/2: our own, or Node's, which is slower and a way out should ours have a flaw",
  ),
  corsOrigins: origins(
    "CORS_ORIGINS",
    "Pages that may call from a browser, separated by commas: `https://app.example`, or `*` for any",
  ),
  tlsCertFile: text(
    "TLS_CERT_FILE",
    "",
    "Certificate chain in PEM; with it the port speaks TLS, and SIGHUP reads it again",
  ),
  tlsKeyFile: text("TLS_KEY_FILE", "", "Private key of the certificate in PEM"),
  shutdownDelayMs: milliseconds(
    "SHUTDOWN_DELAY_MS",
    0,
    "Time at shutdown in which `/readyz` is 503 and calls are still taken, for a load balancer to notice",
    0,
  ),
  shutdownGraceMs: milliseconds("SHUTDOWN_GRACE_MS", 10_000, "Time that running calls get to finish at shutdown", 0),
  deadlineMaxMs: milliseconds("DEADLINE_MAX_MS", 60_000, "Longest deadline that a caller can set"),
  hashConcurrency: whole("HASH_CONCURRENCY", hashesOf(1), "Passwords hashed at once, after all else", {
    most: 1024,
    shown: "cores, 3 for each worker at most",
  }),
  hashQueue: whole("HASH_QUEUE", 64, "Password checks that may wait, then RESOURCE_EXHAUSTED", { least: 0 }),
  hashMemoryKib: whole("HASH_MEMORY_KIB", 19_456, "Memory of one argon2id hash, in KiB", { least: 8, most: 4_194_304 }),
  hashIterations: whole("HASH_ITERATIONS", 2, "Passes of one argon2id hash", { most: 1000 }),
  hashParallelism: whole("HASH_PARALLELISM", 1, "Lanes of one argon2id hash", { most: 255 }),
  phoneDefaultRegion: region(
    "PHONE_DEFAULT_REGION",
    "Region of phone numbers without a prefix (`CH`); empty refuses them",
  ),
  phoneSendsPerUser: whole("PHONE_SENDS_PER_USER", 10, "Codes sent for one user within the window, then SEND_LIMIT"),
  phoneSendsPerNumber: whole(
    "PHONE_SENDS_PER_NUMBER",
    20,
    "Codes sent to one number within the window, then SEND_LIMIT",
  ),
  phoneSendWindowSeconds: whole("PHONE_SEND_WINDOW_SECONDS", 3_600, "Window in which sent codes are counted"),
  smsSender: oneOf(
    "SMS_SENDER",
    ["log", "webhook", "twilio"],
    "How SMS leave: into `sms.log` in the data folder, to a signed webhook, or to Twilio's interface",
  ),
  smsText: smsText("SMS_TEXT", "{code} is your verification code. It is valid for 10 minutes.", "Text around `{code}`"),
  smsAttempts: whole("SMS_ATTEMPTS", 10, "Tries to hand over one SMS before it is given up"),
  smsTimeoutMs: milliseconds("SMS_TIMEOUT_MS", 10_000, "Longest wait for the answer of the SMS provider"),
  smsWebhookUrl: httpUrl("SMS_WEBHOOK_URL", "", "Where the webhook posts each SMS"),
  smsWebhookSecret: webhookSecret(
    "SMS_WEBHOOK_SECRET",
    "Base64 of 24 to 64 bytes that sign it, `whsec_` in front or not",
  ),
  smsTwilioUrl: httpUrl("SMS_TWILIO_URL", "https://api.twilio.com", "Twilio, or a service that speaks like it"),
  smsTwilioAccountSid: token("SMS_TWILIO_ACCOUNT_SID", "Account at Twilio"),
  smsTwilioAuthToken: token("SMS_TWILIO_AUTH_TOKEN", "Password of the account"),
  smsTwilioFrom: text("SMS_TWILIO_FROM", "", "Sender: a number, a name, or a messaging service (`MG…`)"),
  mailSender: oneOf(
    "MAIL_SENDER",
    ["log", "smtp", "webhook"],
    "How mails leave: into `mail.log` in the data folder, by SMTP, or to a signed webhook",
  ),
  mailFrom: mailbox(
    "MAIL_FROM",
    "Sender of mails over SMTP: `no-reply@example.com` or `Example <no-reply@example.com>`",
  ),
  mailSmtpUrl: smtpUrl(
    "MAIL_SMTP_URL",
    "Mail server: `smtp://user:password@host:587` with STARTTLS, or `smtps://…:465`; both parts percent-encoded",
  ),
  mailSmtpStarttls: oneOf(
    "MAIL_SMTP_STARTTLS",
    ["required", "off"],
    "Whether a server of `smtp://` has to encrypt; off is refused with a password",
  ),
  mailSmtpCaFile: text(
    "MAIL_SMTP_CA_FILE",
    "",
    "Authorities of the mail server in PEM, in place of those that Node trusts",
  ),
  mailWebhookUrl: httpUrl("MAIL_WEBHOOK_URL", "", "Where the webhook posts each mail"),
  mailWebhookSecret: webhookSecret(
    "MAIL_WEBHOOK_SECRET",
    "Base64 of 24 to 64 bytes that sign it, `whsec_` in front or not",
  ),
  mailAttempts: whole("MAIL_ATTEMPTS", 10, "Tries to hand over one mail before it is given up"),
  mailTimeoutMs: milliseconds(
    "MAIL_TIMEOUT_MS",
    30_000,
    "Longest wait for the mail server or the webhook to take a mail",
  ),
  mailLanguage: oneOf("MAIL_LANGUAGE", ["en", "de", "fr", "es"], "Language of mails where the call prefers none"),
  passwordCodeUrl: codeUrl(
    "PASSWORD_CODE_URL",
    "Page of yours for codes of mails that set a password: `https://app.example/password#{code}`; empty takes ours",
  ),
  mailSendsPerUser: whole("MAIL_SENDS_PER_USER", 10, "Codes mailed for one user within the window, then SEND_LIMIT"),
  mailSendsPerAddress: whole(
    "MAIL_SENDS_PER_ADDRESS",
    20,
    "Codes mailed to one address within the window, then SEND_LIMIT",
  ),
  mailNotices: someOf(
    "MAIL_NOTICES",
    ["password", "factor", "email", "device"],
    "What users are told by mail: new passwords, added and removed factors, new e-mail addresses, sign-ins by new browsers; or `none`",
  ),
  mailSendWindowSeconds: whole("MAIL_SEND_WINDOW_SECONDS", 3_600, "Window in which mailed codes are counted"),
  cacheSeconds: whole("CACHE_SECONDS", 5, "Longest life of a caller's cached permissions; 0 looks every time", {
    least: 0,
  }),
};

/** Every setting of the process, read once and frozen. */
export type Config = { readonly [K in keyof typeof declared]: ReturnType<(typeof declared)[K]["read"]> };

/** The rows of the table of settings in docs/settings.md, from the one declaration. */
export const settings: readonly Readonly<{ name: string; meaning: string; default: string }>[] = Object.values(
  declared,
).map(({ name, meaning, default: fallback }) => ({ name, meaning, default: fallback }));

/** Sentences about variables that look like settings and are none, and about settings that say more than anybody means. */
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

/** Reads all settings from the environment, or throws a ConfigError that names the wrong one. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const entries = Object.entries(declared).map(([key, setting]) => [
    key,
    setting.read(env[setting.name]?.trim() ?? ""),
  ]);
  const read = Object.fromEntries(entries) as Config;
  const databaseConnections = env.DATABASE_CONNECTIONS?.trim() ? read.databaseConnections : connectionsFor(read);
  const hashConcurrency = env.HASH_CONCURRENCY?.trim() ? read.hashConcurrency : hashesOf(read.workers);
  const config = Object.freeze({ ...read, databaseConnections, hashConcurrency });
  // The driver would read it, and ask each new connection by a statement whose failure nobody catches.
  if (env.PGTARGETSESSIONATTRS)
    throw new ConfigError("PGTARGETSESSIONATTRS is not read: write target_session_attrs into DATABASE_URL");
  if (config.migrationDatabaseUrl && !config.databaseUrl)
    throw new ConfigError("MIGRATION_DATABASE_URL is set without DATABASE_URL: it names another role of that database");
  if (config.databaseUrl && config.masterKeys.length === 0)
    throw new ConfigError("POSTERN_MASTER_KEY is required with DATABASE_URL: make one with `openssl rand -base64 32`");
  if (!config.tlsCertFile !== !config.tlsKeyFile)
    throw new ConfigError("TLS_CERT_FILE and TLS_KEY_FILE belong together: a certificate is of no use without its key");
  if (databaseConnections < config.workers)
    throw new ConfigError(
      `DATABASE_CONNECTIONS is ${databaseConnections}, too few for ${config.workers} processes: set more, or fewer WORKERS`,
    );
  smsOf(config);
  mailOf(config);
  return config;
}

function connectionsFor({ workers, databaseConnections }: Config): number {
  const { each, most } = connectionsOfWorkers;
  return Math.max(databaseConnections, Math.min(most, each * workers));
}

/** Returns the settings of the SMS sender, or throws a ConfigError that names a missing one. */
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

/** Returns the settings of the sender of mails, or throws a ConfigError that names a missing one. */
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
    "MAIL_SMTP_STARTTLS=off would send the password of MAIL_SMTP_URL unencrypted: leave one of them out",
  );
}

/** Returns the settings of tracing: collector, resource and sampler; undefined if nothing is traced. */
export function tracesOf(config: Config) {
  const url = config.tracesUrl ?? (config.tracesBase && `${config.tracesBase.replace(/\/+$/, "")}/v1/traces`);
  if (!url) return undefined;
  const named = config.serviceName ? { "service.name": config.serviceName } : {};
  const resource = { "service.name": "postern", ...config.resourceAttributes, ...named };
  const { tracesHeaders: headers, tracesSampler: sampler, tracesRatio: ratio } = config;
  return { collector: { url, headers, resource }, sampler, ratio };
}

/** Returns the keys that seal and sign, the current one first; with the embedded database one is generated into its folder. */
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
