import { initialWindowSize } from "./rfc9113.ts";

/** The number of tokens that a bucket holds, and that it gains each second. */
export type Rate = { readonly burst: number; readonly perSecond: number };

// Receiving

// Lets a whole message in without waiting for WINDOW_UPDATE, and limits the bytes that one stream may have in transit.
const largestStreamWindow = 16 * 2 ** 20;

/** The window of a stream whose body is being read: one message plus the initial window. */
export const streamWindowFor = (messageMaxBytes: number): number =>
  Math.min(Math.max(messageMaxBytes, initialWindowSize) + initialWindowSize, largestStreamWindow);

/** The window of a connection, in stream windows, so that several streams can send at full speed at once. */
export const streamWindowsPerConnection = 4;

/** Header fields of one request: 64 from the client, and the four pseudo-header fields. */
export const headerFieldsMax = 68;

/** Field blocks are decoded up to this size, although refused beyond `headersMaxBytes`, so that the refusal can be a response (431). */
export const fieldBlockMaxBytes = (headersMaxBytes: number): number => Math.max(65_536, 4 * headersMaxBytes);

/** Frames per field block. A block of the maximum size needs 5; 64 leave room for clients that split it more finely. */
export const fieldBlockFramesMax = 64;

/** The maximum number and size of field blocks whose decoded request is cached; clients repeat a handful of short ones. */
export const blockCacheEntries = 16;
export const blockCacheEntryBytes = 2048;

/** Dynamic table size updates at the beginning of a field block: RFC 7541, 4.2 has a use for two. */
export const tableSizeUpdatesMax = 2;

// Floods

/** Frames that cost their sender nothing. Requests, DATA and the updates that responses need earn more of them. */
export const controlFrames: Rate = { burst: 1000, perSecond: 1000 };

/** Control frames earned by a request, by a DATA frame received, and by a DATA frame sent (two WINDOW_UPDATEs). */
export const earnedByRequest = 4;
export const earnedByData = 1;
export const earnedByDataSent = 2;

/** Streams reset by the client, or by us because of a client error: CVE-2023-44487 (rapid reset), CVE-2025-8671. */
export const streamResets: Rate = { burst: 200, perSecond: 20 };

/** Streams refused beyond SETTINGS_MAX_CONCURRENT_STREAMS: they are cheap to refuse, and clients do hit the limit in bursts. */
export const refusedStreams: Rate = { burst: 2000, perSecond: 200 };

/**
 * Responses to requests that have not ended, as in CVE-2025-8671: each costs us a response and RST_STREAM, but its sender only a HEADERS
 * frame. If the end was already on its way, it returns the token.
 */
export const earlyResponses: Rate = { burst: 100, perSecond: 100 };

/**
 * The number of requests of one connection that may begin in one tick of the event loop; everything else that was read waits for the next.
 * Up to `most` begin within the time limit, and at least `least` however long they take, because on a busy machine time passes without us.
 */
export const requestsPerTick = { most: 32, least: 8, ms: 1 } as const;

/** SETTINGS frames, including acknowledgements: each may affect every stream. */
export const settingsFrames: Rate = { burst: 100, perSecond: 100 };

/** Streams remembered after we reset them while the client was still sending, whose frames in transit are dropped silently. */
export const resetStreamsRemembered = 1000;

/** The number of bytes that a client may leave unread in our socket before we stop reading from it. */
export const unsentMaxBytes = 2 ** 20;

// Sending

/** The first and the largest page that frames are written to; both below 4 KiB, from which on Node's buffer pool does not share. */
export const firstPageBytes = 512;
export const largestPageBytes = 4032;

/** The maximum number of bytes combined into one write. */
export const gatheredMaxBytes = 65_536;

/** Payloads up to this size are copied next to their frame header; larger ones are written in place. */
export const copiedMaxBytes = 8192;

/** The largest response field that is added to our dynamic table. */
export const indexedFieldMaxBytes = 256;

/** The time that the client may take to respond to the PING before our last GOAWAY, and to close after it. */
export const drainTimeoutMs = 1000;
