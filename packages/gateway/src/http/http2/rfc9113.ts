/** Frame types: RFC 9113, 6. */
export const FrameType = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

/** Frame flags: RFC 9113, 6. The same bit has different meanings in different frame types. */
export const Flag = {
  NONE: 0x0,
  ACK: 0x1,
  END_STREAM: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

/** Error codes: RFC 9113, 7. */
export const ErrorCode = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  ENHANCE_YOUR_CALM: 0xb,
} as const;

/** Names of settings: RFC 9113, 6.5.2. */
export const Setting = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

/** The connection preface of a client: RFC 9113, 3.4. */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The length of a frame header: RFC 9113, 4.1. */
export const frameHeaderBytes = 9;

/** The initial value of SETTINGS_MAX_FRAME_SIZE, used in both directions: we neither request more nor send more. */
export const maxFrameSize = 16_384;

/** The largest value that SETTINGS_MAX_FRAME_SIZE may have: RFC 9113, 6.5.2. */
export const largestMaxFrameSize = 2 ** 24 - 1;

/** The initial flow-control window of a connection and of each stream: RFC 9113, 6.9.2. */
export const initialWindowSize = 65_535;

/** The largest flow-control window: RFC 9113, 6.9.1. */
export const maxWindowSize = 2 ** 31 - 1;

/** The largest stream identifier: RFC 9113, 5.1.1. */
export const maxStreamId = 2 ** 31 - 1;

/** A connection error: RFC 9113, 5.4.1. */
export class ConnectionError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The connection error for a peer that sends too many frames that cost it nothing. */
export const enhanceYourCalm = (what: string): ConnectionError =>
  new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, `too many ${what}`);
