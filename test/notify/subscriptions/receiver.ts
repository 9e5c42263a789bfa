import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { serve } from "../../provider/https_server.ts";

/** A post that a receiver accepted. */
export type Accepted = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string };

/** What a receiver does with a post: it accepts it with a status, or does something else with the response. */
type Behaviour = (response: ServerResponse, path: string) => boolean | Promise<boolean>;

/** A receiver over https that keeps what it accepts. */
export async function openEventReceiver() {
  const accepted: Accepted[] = [];
  const asked = new Map<string, number>();
  const receiver = {
    accepted,
    asked,
    /** Decides on a post; true if it is accepted, false if the response is already decided. */
    behave: (() => true) as Behaviour,
    at: (path: string) => accepted.filter((one) => one.path === path),
    eventsAt: (path: string) => accepted.filter((one) => one.path === path).map(({ body }) => JSON.parse(body)),
  };
  const server = await serve((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", async () => {
      const { url: path = "", headers } = request;
      asked.set(path, (asked.get(path) ?? 0) + 1);
      if (!(await receiver.behave(response, path))) return;
      accepted.push({ path, headers, body: Buffer.concat(parts).toString("utf8") });
      response.writeHead(204).end();
    });
  });
  const { url, outgoingCaFile } = server;
  return Object.assign(receiver, {
    ...{ url, outgoingCaFile },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  });
}

/** Which of some secrets signed a post, checked as https://www.standardwebhooks.com describes. */
export function signersOf({ headers, body }: Accepted, secrets: readonly string[]): string[] {
  const signatures = String(headers["webhook-signature"]).split(" ");
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  return secrets.filter((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return signatures.includes(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  });
}
