import { type ClientHttp2Stream, connect } from "node:http2";
import { type Fields, type HttpClient, type HttpRequest, type HttpResponse, readBody, textsOf } from "./http.ts";

/** Connects by HTTP/2: with prior knowledge, or by ALPN to a port with a certificate, whoever signed it. */
export function connectHttp2(url: string): HttpClient {
  const session = connect(url, { rejectUnauthorized: false }).on("error", () => {});
  const send = ({ method, path, headers, body }: HttpRequest): Promise<HttpResponse> => {
    const fields = { ":method": method, ":path": path, ...headers };
    const stream = session.request(fields, { endStream: body.length === 0 });
    if (body.length > 0) stream.end(body);
    return readResponse(stream);
  };
  return { send, [Symbol.dispose]: () => session.destroy() };
}

/** Makes one request on a connection of its own, with pseudo-header fields as they are given: GET, or POST with a body. */
export async function requestHttp2(url: string, headers: Fields, body?: string | Uint8Array): Promise<HttpResponse> {
  const session = connect(url).on("error", () => {});
  try {
    const stream = session.request({ ":method": body === undefined ? "GET" : "POST", ...headers });
    stream.end(body);
    return await readResponse(stream);
  } finally {
    session.destroy();
  }
}

/** Reads the response of a stream to its end. */
export async function readResponse(stream: ClientHttp2Stream): Promise<HttpResponse> {
  let [headers, trailers]: [Fields, Fields] = [{}, {}];
  stream.on("response", (fields) => {
    headers = textsOf(fields);
  });
  stream.on("trailers", (fields) => {
    trailers = textsOf(fields);
  });
  const body = await readBody(stream);
  return { status: Number(headers[":status"]), headers, trailers, body };
}
