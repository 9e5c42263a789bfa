import type { Calls } from "../../packages/gateway/bench/load/generator.ts";
import { basicOf, formOf, jsonIn } from "./http_text.ts";

/** The machines of a provider, and how they ask for tokens there. */
export type MachineCalls = {
  readonly issuer: string;
  /** The path of the token endpoint. */
  readonly token: string;
  /** What a request needs besides its grant type. */
  readonly form: Readonly<Record<string, string>>;
  readonly machines: readonly { readonly id: string; readonly secret: string }[];
};

/** Makes requests for tokens by client credentials, each caller with a machine of its own. The thread that sends them imports this. */
export function callsOf(options: unknown): Calls {
  const { issuer, token, form, machines } = options as MachineCalls;
  const { host } = new URL(issuer);
  const body = formOf([["grant_type", "client_credentials"], ...Object.entries(form)]);
  const requests = machines.map((machine) =>
    Buffer.from(`POST ${token} HTTP/1.1\r\nhost: ${host}\r\n${basicOf(machine)}${body}`),
  );
  const seen = new Set<unknown>();
  return {
    http: "1",
    bytes: (_, caller) => requests[caller] ?? "",
    isRight(response) {
      const { access_token, token_type, expires_in } = jsonIn(response);
      const isNew = typeof access_token === "string" && access_token.length > 20 && !seen.has(access_token);
      seen.add(access_token);
      return isNew && token_type === "Bearer" && Number(expires_in) > 0;
    },
  };
}
