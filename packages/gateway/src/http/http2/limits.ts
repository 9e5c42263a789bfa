import { initialWindowSize } from "./rfc9113.ts";

/** How many tokens a bucket holds, and how many it gains each second. */
export type Rate = { readonly burst: number; readonly perSecond: number };

// Receiving

// Lets a whole message in without a wait for WINDOW_UPDATE, and bounds the bytes that one stream may have on their way.
const largestStreamWindow = 16 * 2 ** 20;

/** The window of a stream whose body is read: one message, and the initial window on top of it. */
export const streamWindowFor = (messageMaxBytes: number): number =>
  Math.min(Math.max(messageMaxBytes, initialWindowSize) + initialWindowSize, largestStreamWindow);

/** The window of a connection, in windows of a stream: some streams send at full speed at once. */
export const streamWindowsPerConnection = 4;

/** Header fields of one request: 64 of the client's, and the four pseudo-header fields. */
export const headerFieldsMax = 68;

/** A field block is decoded up to this size, though refused from `headersMaxBytes` on: the refusal is a response (431). */
export const fieldBlockMaxBytes = (headersMaxBytes: number): number => Math.max(65_536, 4 * headersMaxBytes);

/** Frames of one field block. A block of the largest size needs 5; 64 leave room for clients that split it more finely. */
export const fieldBlockFramesMax = 64;

/** Field blocks whose decoded request is cached, and the largest of them; clients repeat a handful of short ones. */
export const blockCacheEntries = 16;
export const blockCacheEntryBytes = 2048;

/** Dynamic table size updates at the beginning of a field block: RFC 7541, 4.2 has a use for two. */
export const tableSizeUpdatesMax = 2;

// Floods

/** Frames that cost their sender nothing; requests, DATA and the updates that responses need earn more of them. */
export const controlFrames: Rate = { burst: 1000, perSecond: 1000 };

/** Control frames earned by a request, by a DATA frame received, and by a DATA frame sent (two WINDOW_UPDATEs). */
export const earnedByRequest = 4;
export const earnedByData = 1;
export const earnedByDataSent = 2;

/** Streams reset by the client, or by us for an error of the client: CVE-2023-44487 (rapid reset), CVE-2025-8671. */
export const streamResets: Rate = { burst: 200, perSecond: 20 };

/** Streams refused beyond SETTINGS_MAX_CONCURRENT_STREAMS: cheap to refuse, and clients do hit the limit in bursts. */
export const refusedStreams: Rate = { burst: 2000, perSecond: 200 };

/**
 * Responses to requests that have not ended, as CVE-2025-8671 has them: each costs us a response and a RST_STREAM, and its sender a
 * HEADERS frame. An end that is on its way takes its token back.
 */
export const earlyResponses: Rate = { burst: 100, perSecond: 100 };

/**
 * Requests of one connection that are begun in one tick of the event loop; what else was read waits for the next one. So many are
 * begun within the time, and the fewer ones however long they take: on a busy machine the time passes without us.
 */
export const requestsPerTick = { most: 32, least: 8, ms: 1 } as const;

/** SETTINGS frames, acknowledgements included: each may touch every stream. */
export const settingsFrames: Rate = { burst: 100, perSecond: 100 };

/** Streams remembered after we reset them while the client was still sending: frames on their way are dropped silently. */
export const resetStreamsRemembered = 1000;

/** Bytes that a client may leave unread in our socket before we stop reading from it. */
export const unsentMaxBytes = 2 ** 20;

// Sending

/** The first and the largest page that frames are written to: below the 4 KiB from which Node's pool does not share. */
export const firstPageBytes = 512;
export const largestPageBytes = 4032;

/** Bytes gathered for one write to the socket. */
export const gatheredMaxBytes = 65_536;

/** Payloads up to this size are copied next to their frame header; larger ones are written from where they lie. */
export const copiedMaxBytes = 8192;

/** The largest response field that enters our dynamic table. */
export const indexedFieldMaxBytes = 256;

/** Time for the client to answer the PING before our last GOAWAY, and to close after it. */
export const drainTimeoutMs = 1000;
