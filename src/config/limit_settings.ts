import { longestTimer, milliseconds, whole } from "./setting.ts";

const perMinute = { least: 0, most: 60_000_000 };

/** The limits of a node's load, and its timeouts. */
export const limitSettings = {
  signInFailuresPerAddressPerMinute: whole(
    "SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE",
    100,
    "Failed sign-ins from one address (for IPv6, one /64) on this node, then PASSWORD_ATTEMPTS; the same number of wrong password codes, and of unknown names that one caller of FindUser tries; 0 means no limit",
    { least: 0, most: 60_000 },
  ),
  passwordResetsPerAddressPerMinute: whole(
    "PASSWORD_RESETS_PER_ADDRESS_PER_MINUTE",
    20,
    "Requests for password reset mails, registration mails and codes to sign in from one address (for IPv6, one /64) on this node, for each of the three, then RATE_LIMIT; 0 means no limit",
    { least: 0, most: 60_000 },
  ),
  callsPerAddressPerMinute: whole(
    "CALLS_PER_ADDRESS_PER_MINUTE",
    300_000,
    "Calls from one address (for IPv6, one /64) on this node, then RATE_LIMIT; 0 means no limit",
    perMinute,
  ),
  callsPerCallerPerMinute: whole(
    "CALLS_PER_CALLER_PER_MINUTE",
    300_000,
    "Calls by one user on this node, then RATE_LIMIT; 0 means no limit",
    perMinute,
  ),
  callsPerOrganizationPerMinute: whole(
    "CALLS_PER_ORGANIZATION_PER_MINUTE",
    600_000,
    "Calls by the users of one organization on this node, then RATE_LIMIT; 0 means no limit",
    perMinute,
  ),
  unknownTokensPerAddressPerMinute: whole(
    "UNKNOWN_TOKENS_PER_ADDRESS_PER_MINUTE",
    6_000,
    "Unknown tokens from one address on this node; then none is looked up, and calls get RATE_LIMIT; 0 means no limit",
    perMinute,
  ),
  messageMaxBytes: whole(
    "MESSAGE_MAX_BYTES",
    4_194_304,
    "Largest message that any rpc accepts, also after decompression",
    { least: 1024 },
  ),
  bodiesMaxBytes: whole(
    "BODIES_MAX_BYTES",
    67_108_864,
    "Memory for request bodies; at most a quarter for one caller, a quarter for all unknown callers, a sixteenth for one network",
    { least: 8_388_608 },
  ),
  callsMax: whole(
    "CALLS_MAX",
    1000,
    "Concurrent calls on this node, then OVERLOADED; at most three quarters of them for one organization, and half for one network of unknown callers; streams and slow bodies are not counted",
  ),
  streamsPerCallerMax: whole(
    "STREAMS_PER_CALLER_MAX",
    200,
    "Concurrent event streams of one user on this node, then OVERLOADED",
    { most: longestTimer },
  ),
  knownStreamsMax: whole(
    "KNOWN_STREAMS_MAX",
    10_000,
    "Concurrent event streams on this node, then OVERLOADED; at most three quarters of them for one organization",
    { most: longestTimer },
  ),
  unknownStreamsMax: whole(
    "UNKNOWN_STREAMS_MAX",
    2048,
    "Concurrent health and reflection streams without a token; at most half of them for one network",
    { least: 2, most: longestTimer },
  ),
  headersMaxBytes: whole("HEADERS_MAX_BYTES", 16_384, "Maximum total size of request headers", { least: 1024 }),
  headerTimeoutMs: milliseconds("HEADER_TIMEOUT_MS", 10_000, "Longest wait for complete request headers"),
  bodyTimeoutMs: milliseconds("BODY_TIMEOUT_MS", 30_000, "Longest wait for a complete request body"),
  idleTimeoutMs: milliseconds("IDLE_TIMEOUT_MS", 300_000, "An idle connection is closed after this time"),
  streamsMax: whole("STREAMS_MAX", 128, "Concurrent calls on one HTTP/2 connection", { most: longestTimer }),
  connectionAgeMs: milliseconds(
    "CONNECTION_AGE_MS",
    3_600_000,
    "A connection accepts no new calls after about this time; 0 means never",
    0,
  ),
};
