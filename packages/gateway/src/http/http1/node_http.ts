/**
 * Node's own HTTP/1.1. Not imported, because an import would evaluate every getter of the module, and the WebSocket getter loads undici,
 * which takes 25 ms and 8 MB.
 */
export const { createServer, IncomingMessage, STATUS_CODES } = process.getBuiltinModule("node:http");
