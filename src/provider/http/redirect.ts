import type { Response } from "@postern/gateway";

/** RFC 9700, 4.12: only after a 303 is the next request certain to have no body. */
export const redirect = (location: string, { cookies }: { readonly cookies: readonly string[] }): Response => ({
  status: 303,
  headers: {
    location: inAscii(location),
    "referrer-policy": "no-referrer",
    ...(cookies.length > 0 ? { "set-cookie": cookies } : {}),
  },
});

// Headers cannot hold other characters; browsers decode a percent-encoded host to the same host (WHATWG URL, 3.5).
const inAscii = (uri: string): string => uri.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
