import {
  controlFrames,
  earlyResponses,
  earnedByData,
  earnedByDataSent,
  earnedByRequest,
  fieldBlockFramesMax,
  fieldBlockMaxBytes,
  refusedStreams,
  resetStreamsRemembered,
  settingsFrames,
  streamResets,
} from "../http2/limits.ts";
import { TokenBucket } from "../http2/rate_limit.ts";
import { ErrorCode, enhanceYourCalm, Flag, FrameType } from "../http2/rfc9113.ts";
import { FieldCounter } from "./field_counter.ts";
import type { ScannedFrame } from "./frame_scanner.ts";

/** The state of a stream, as seen from the frames on the wire. */
export type StreamRecord = {
  /** Whether END_STREAM was received. */
  ended: boolean;
  /** Whether reading of its body is paused. */
  isPaused: boolean;
  /** The number of field lines in the head and in the trailers. */
  readonly fields: { head: number; trailers: number };
  /** Called when our END_STREAM is on its way. */
  onResponseSent?: () => void;
};

/** Limits of the guard. */
export type GuardLimits = { readonly streamsMax: number; readonly headersMaxBytes: number };

// A Buffer costs about as much.
const tinyDataBytes = 256;

/** Counts the frames of one connection in both directions, and throws ENHANCE_YOUR_CALM for a flood. Node counts few of them. */
export class FloodGuard {
  readonly #limits: GuardLimits;
  readonly #settings = new TokenBucket(settingsFrames);
  readonly #control = new TokenBucket(controlFrames);
  readonly #resets = new TokenBucket(streamResets);
  readonly #refusals = new TokenBucket(refusedStreams);
  readonly #earlyResponses = new TokenBucket(earlyResponses);
  readonly #onFlood: () => void;
  readonly #open = new Map<number, StreamRecord>();
  #lastStreamId = 0;
  readonly #fields = new FieldCounter();
  #blockOf: StreamRecord | undefined;
  #blockPart: "head" | "trailers" = "head";
  #blockBytes = 0;
  #blockFrames = 0;
  /** Whether SETTINGS were received. */
  hasSettings = false;

  /** `onFlood` is called if the client begins requests faster than it ends them. */
  constructor(limits: GuardLimits, onFlood: () => void) {
    this.#limits = limits;
    this.#onFlood = onFlood;
  }

  /** Whether a field block is waiting for CONTINUATION. */
  get isBlockIncomplete(): boolean {
    return this.#blockFrames > 0;
  }

  /** The record of a stream that is open. */
  record(streamId: number): StreamRecord | undefined {
    return this.#open.get(streamId);
  }

  /** Counts a frame from the client. */
  received(frame: ScannedFrame): void {
    switch (frame.type) {
      case FrameType.DATA:
        return void this.#data(frame);
      case FrameType.HEADERS:
        this.#headers(frame);
        return void this.#fieldBlock(frame);
      case FrameType.CONTINUATION:
        return void this.#fieldBlock(frame);
      case FrameType.RST_STREAM:
        return void this.#take(this.#open.delete(frame.streamId) ? this.#resets : this.#control, "RST_STREAM frames");
      case FrameType.SETTINGS:
        this.hasSettings = true;
        return void this.#take(this.#settings, "SETTINGS frames");
      default:
        return void this.#take(this.#control, "frames without effect");
    }
  }

  /** Counts bytes of a client's field block, after the frame that contains them. */
  fragment(bytes: Uint8Array, start: number, end: number): void {
    this.#fields.scan(bytes, start, end);
    if (this.#blockOf) this.#blockOf.fields[this.#blockPart] = this.#fields.count;
  }

  /** Counts a frame of ours. */
  sent({ type, flags, streamId, code }: ScannedFrame): void {
    if (type === FrameType.DATA) this.#control.add(earnedByDataSent);
    const endsStream = (type === FrameType.DATA || type === FrameType.HEADERS) && (flags & Flag.END_STREAM) !== 0;
    if (type !== FrameType.RST_STREAM && !endsStream) return;
    const record = this.#open.get(streamId);
    this.#open.delete(streamId);
    if (endsStream && record?.ended === false && !this.#earlyResponses.take()) this.#onFlood();
    if (endsStream) return void record?.onResponseSent?.();
    if (code === ErrorCode.REFUSED_STREAM) this.#take(this.#refusals, "requests that cannot be served");
    else if (!ourResets.has(code)) this.#take(this.#resets, "stream errors");
  }

  #data({ flags, streamId, length }: ScannedFrame): void {
    const endsStream = (flags & Flag.END_STREAM) !== 0;
    const record = this.#open.get(streamId);
    if (record && endsStream) record.ended = true;
    const isTiny = record?.isPaused === true && length < tinyDataBytes;
    if ((length === 0 && !endsStream) || isTiny || streamId > this.#lastStreamId)
      return void this.#take(this.#control, "frames without effect");
    if (record) this.#control.add(earnedByData);
    else this.#take(this.#control, "frames on closed streams");
  }

  #headers({ flags, streamId }: ScannedFrame): void {
    const ended = (flags & Flag.END_STREAM) !== 0;
    this.#fields.begin();
    this.#blockPart = streamId <= this.#lastStreamId ? "trailers" : "head";
    if (this.#blockPart === "trailers") {
      const record = this.#open.get(streamId);
      this.#blockOf = record;
      if (record && ended) record.ended = true;
      return void this.#take(this.#control, "frames without effect");
    }
    this.#lastStreamId = streamId;
    this.#control.add(earnedByRequest);
    this.#blockOf = { ended, isPaused: false, fields: { head: 0, trailers: 0 } };
    this.#open.set(streamId, this.#blockOf);
    // Streams that Node ignores after GOAWAY are never closed.
    if (this.#open.size <= this.#limits.streamsMax + resetStreamsRemembered) return;
    const [oldest = streamId] = this.#open.keys();
    this.#open.delete(oldest);
  }

  #fieldBlock({ flags, length }: ScannedFrame): void {
    this.#blockBytes += length;
    this.#blockFrames += 1;
    const maxBytes = fieldBlockMaxBytes(this.#limits.headersMaxBytes);
    if (this.#blockBytes > maxBytes || this.#blockFrames > fieldBlockFramesMax) throw enhanceYourCalm("header fields");
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.#blockBytes = 0;
    this.#blockFrames = 0;
  }

  #take(bucket: TokenBucket, excess: string): void {
    if (!bucket.take()) throw enhanceYourCalm(excess);
  }
}

// The error codes of resets by our own decision, which say nothing about the client.
const ourResets: ReadonlySet<number> = new Set([ErrorCode.NO_ERROR, ErrorCode.INTERNAL_ERROR, ErrorCode.CANCEL]);
