import { ErrorCode, Flag, FrameType, maxWindowSize } from "../../../../src/http/http2/rfc9113.ts";
import { isRefused, type Outcome } from "./outcome.ts";

/** A sequence, both outcomes, and the stream that differs. */
export type Tried = {
  readonly frames: readonly Buffer[];
  readonly own: Outcome;
  readonly node: Outcome;
  readonly streamId: number;
};

type Reason = { readonly why: string; readonly applies: (tried: Tried) => boolean };

/** The reasons for which ours may respond where Node does not. */
export const reasons: readonly Reason[] = [
  {
    why: "Both ended the connection: Node answers no request that an error follows in the same read, ours may have.",
    applies: ({ own, node }) => isRefused(own) && isRefused(node),
  },
  {
    why: "Node ends the connection by the header of a frame whose payload is still to come: ours waits for it, for a time.",
    applies: ({ frames, node }) => isRefused(node) && wireFrames(frames).isIncomplete,
  },
  {
    why: "Node ends the connection for an acknowledgement of PING or SETTINGS that it did not ask for: RFC 9113 does not.",
    applies: ({ frames, node }) => isRefused(node) && wireFrames(frames).all.some(isAcknowledgement),
  },
  {
    why: "Node ends the connection for frames behind END_STREAM: RFC 9113, 5.1 lets an error of the stream suffice.",
    applies: ({ frames, node }) => isRefused(node) && hasFramesBehindEnd(wireFrames(frames).all),
  },
  {
    why: "Node ends the connection for DATA beyond the content-length: RFC 9113, 8.1.1 asks for a stream error.",
    applies: ({ own, node }) => node.goaway === ErrorCode.PROTOCOL_ERROR && hasRest(own),
  },
  {
    why: "The client reset the stream: Node answers no request that is reset in the same read, ours may have.",
    applies: ({ frames, streamId }) =>
      wireFrames(frames).all.some(({ type, id }) => type === FrameType.RST_STREAM && id === streamId),
  },
  {
    why: "Node ends the connection for WINDOW_UPDATE by 0, or beyond the largest window, on a stream: RFC 9113, 6.9 does not.",
    applies: ({ frames, node }) =>
      isRefused(node) &&
      wireFrames(frames).all.some(
        ({ type, id, payload }) => type === FrameType.WINDOW_UPDATE && id !== 0 && isExtreme(payload),
      ),
  },
  {
    why: "Node knows the settings of RFC 8441 and RFC 9218, and their values: ours ignores what it does not know, RFC 9113, 6.5.2.",
    applies: ({ frames, node }) =>
      isRefused(node) &&
      wireFrames(frames).all.some(({ type, payload }) => type === FrameType.SETTINGS && hasExtension(payload)),
  },
  {
    why: "The client ended the connection by GOAWAY with an error: Node drops what runs, ours answers it.",
    applies: ({ frames }) => wireFrames(frames).all.some(({ type }) => type === FrameType.GOAWAY),
  },
];

/** Whether a difference has a reason that is listed. */
export const explained = (tried: Tried): boolean => reasons.some(({ applies }) => applies(tried));

type WireFrame = { readonly type: number; readonly flags: number; readonly id: number; readonly payload: Buffer };

/** The frames that a server finds in a sequence, which mutations may have shifted. */
function wireFrames(frames: readonly Buffer[]): { readonly all: readonly WireFrame[]; readonly isIncomplete: boolean } {
  const bytes = Buffer.concat(frames);
  const all: WireFrame[] = [];
  let at = 0;
  while (bytes.length - at >= 9) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    const id = bytes.readUInt32BE(at + 5) & 0x7fffffff;
    all.push({ type: bytes[at + 3] ?? 0, flags: bytes[at + 4] ?? 0, id, payload: bytes.subarray(at + 9, end) });
    at = end;
  }
  return { all, isIncomplete: at < bytes.length };
}

const isAcknowledgement = ({ type, flags }: WireFrame) =>
  (type === FrameType.PING || type === FrameType.SETTINGS) && (flags & Flag.ACK) !== 0;

// Ours reset a malformed request, or answered one whose rest it does not read.
const hasRest = ({ streams }: Outcome) =>
  [...streams.values()].some(({ reset }) => reset === ErrorCode.PROTOCOL_ERROR || reset === ErrorCode.NO_ERROR);

function isExtreme(payload: Buffer): boolean {
  const increment = payload.length === 4 ? payload.readUInt32BE() & 0x7fffffff : 0;
  return increment === 0 || increment > maxWindowSize - 2_000_000;
}

// SETTINGS_ENABLE_CONNECT_PROTOCOL and SETTINGS_NO_RFC7540_PRIORITIES.
function hasExtension(payload: Buffer): boolean {
  for (let at = 0; at + 6 <= payload.length; at += 6) if ([8, 9].includes(payload.readUInt16BE(at))) return true;
  return false;
}

function hasFramesBehindEnd(frames: readonly WireFrame[]): boolean {
  const ended = new Set<number>();
  return frames.some(({ type, flags, id }) => {
    if (type !== FrameType.DATA && type !== FrameType.HEADERS) return false;
    if (ended.has(id)) return true;
    if ((flags & Flag.END_STREAM) !== 0) ended.add(id);
    return false;
  });
}
