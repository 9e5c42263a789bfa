import { Agent, request as requestHttp } from "node:http";
import { request as requestHttps, Agent as SecureAgent } from "node:https";
import { type HttpClient, type HttpRequest, type HttpResponse, readBody, textsOf } from "./http.ts";

/** Connects by HTTP/1.1, to a port with a certificate too, whoever signed it. */
export function connectHttp1(url: string): HttpClient {
  const options = { keepAlive: true, maxSockets: 1, rejectUnauthorized: false };
  const secure = url.startsWith("https:");
  const [agent, request] = secure ? [new SecureAgent(options), requestHttps] : [new Agent(options), requestHttp];
  const send = ({ method, path, headers, body }: HttpRequest) =>
    new Promise<HttpResponse>((resolve, reject) => {
      const length = method === "GET" || method === "DELETE" ? {} : { "content-length": String(body.length) };
      const sending = request(url + path, { agent, method, headers: { ...headers, ...length } }, (response) => {
        const { statusCode: status = 0, headers } = response;
        readBody(response).then(
          (body) => resolve({ status, headers: textsOf(headers), trailers: textsOf(response.trailers), body }),
          reject,
        );
      });
      sending.on("error", reject).end(body);
    });
  return { send, [Symbol.dispose]: () => agent.destroy() };
}
