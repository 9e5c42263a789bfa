import { leastCompressed } from "../../codec/compression.ts";
import { connectTimeout } from "./connect.ts";
import { problem } from "./json_error.ts";
import type { Dialect, Protocol } from "./protocol.ts";

const headers = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};
const varied = { ...headers, vary: "accept-encoding" };

const protocol: Protocol = {
  encodingHeader: "content-encoding",
  acceptHeader: "accept-encoding",
  timeout: connectTimeout,
  around: () => 0,
  open: (message, encoding) => ({ message, compressed: encoding !== undefined }),

  answer({ message, encoding }) {
    if (!encoding) return { status: 200, headers: message.length < leastCompressed ? headers : varied, body: message };
    return { status: 200, headers: { ...varied, "content-encoding": encoding.name }, body: message };
  },

  refusal(error) {
    const { status, contentType, headers: more, body } = problem(error);
    return { status, headers: { ...headers, ...more, "content-type": contentType }, body };
  },
};

/** What clients speak that speak no protocol: JSON over HTTP. */
export const plain: Dialect = { protocol, json: true, contentType: headers["content-type"] };
