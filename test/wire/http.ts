/** A request, byte for byte. */
export type HttpRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

/** Header or trailer fields by their lower-case names. */
export type Fields = Readonly<Record<string, string>>;

/** A response, byte for byte. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Fields;
  readonly trailers: Fields;
  readonly body: Buffer;
};

/** One connection to a server. */
export type HttpClient = Disposable & { readonly send: (request: HttpRequest) => Promise<HttpResponse> };

/** Headers and trailers in one: gRPC puts its status into either. */
export const fieldsOf = ({ headers, trailers }: Pick<HttpResponse, "headers" | "trailers">): Fields => ({
  ...headers,
  ...trailers,
});

/** Fields as Node gives them, with each value as text. */
export const textsOf = (fields: object): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, `${value}`]));

/** Reads a body to its end. */
export async function readBody(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

/** Reads the fields in the last frame of gRPC-Web. */
export function readTrailers(message: Buffer): Fields {
  const lines = message
    .toString()
    .split("\r\n")
    .filter((line) => line !== "");
  return Object.fromEntries(lines.map((line) => line.split(/:\s*(.*)/s)));
}
