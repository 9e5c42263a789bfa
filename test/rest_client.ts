/** An answer as a client with plain JSON sees it. */
export type Answer = {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what the wire brought, whatever that is.
  readonly body: any;
  readonly headers: Headers;
};

/** Makes a call over REST/JSON, as the holder of a token. */
export type Client = {
  readonly token: string | undefined;
  readonly call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answer>;
  readonly post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  readonly put: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  readonly delete: (path: string, headers?: Record<string, string>) => Promise<Answer>;
};

/** A client over plain JSON. */
export function clientOf(url: string, token?: string): Client {
  const call: Client["call"] = async (method, path, body, headers = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : JSON.parse(text), headers: answer.headers };
  };
  return {
    token,
    call,
    get: (path, headers) => call("GET", path, undefined, headers),
    post: (path, body = {}, headers = {}) => call("POST", path, body, headers),
    put: (path, body = {}, headers = {}) => call("PUT", path, body, headers),
    delete: (path, headers) => call("DELETE", path, undefined, headers),
  };
}
