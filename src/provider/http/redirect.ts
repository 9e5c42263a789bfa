import type { Response } from "@postern/gateway";

/** RFC 9700, 4.12: by 303 alone the next request surely has no body. */
export const redirect = (location: string, { cookies }: { readonly cookies: readonly string[] }): Response => ({
  status: 303,
  headers: {
    location: inAscii(location),
    "referrer-policy": "no-referrer",
    ...(cookies.length > 0 ? { "set-cookie": cookies } : {}),
  },
});

// A header holds no other characters; browsers read an encoded host as they read the host itself (WHATWG URL, 3.5).
const inAscii = (uri: string): string => uri.replace(/[^\x21-\x7e]+/g, encodeURIComponent);
