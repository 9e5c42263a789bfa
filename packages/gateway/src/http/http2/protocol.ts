/** Types of frames: RFC 9113, 6. */
export const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;

/** Flags of frames; one bit means different things to different types. */
export const flags = { none: 0, endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

/** Error codes: RFC 9113, 7. */
export const codes = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const;

/** What every client says first: RFC 9113, 3.4. */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The bytes before each payload. */
export const frameHeaderBytes = 9;

/** The largest payload, in both directions: what everybody has to take, and we ask for no more. */
export const mostFrameBytes = 16_384;

/** The window that everything begins with: RFC 9113, 6.9.2. */
export const firstWindow = 65_535;

/** No window, and no stream, has a higher number. */
export const largest = 2 ** 31 - 1;

/** Ends a connection: what the other side did makes it impossible, or unwise, to go on. */
export class ConnectionFault extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
