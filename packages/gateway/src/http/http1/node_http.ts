/**
 * Node's own HTTP/1.1. Not imported: an import would evaluate every getter of the module, and that of WebSocket loads undici, which takes
 * 25 ms and 8 MB.
 */
export const { createServer, IncomingMessage, STATUS_CODES } = process.getBuiltinModule("node:http");
