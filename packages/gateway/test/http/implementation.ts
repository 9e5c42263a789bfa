/** The implementation of HTTP/2 that is tested: `HTTP2=node npm test` runs all against Node's. */
export const http2 = process.env.HTTP2 === "node" ? "node" : "own";
