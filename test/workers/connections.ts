import { connect } from "node:net";

/** The end of a connection that asked once. */
export type Outcome = "answered" | "refused" | "reset" | "closed";

/** Connects, asks `/healthz` once, and reads to the end; the server is asked to close. */
export function askOnce(url: string): Promise<Outcome> {
  return new Promise((resolve) => {
    let text = "";
    let outcome: Outcome = "closed";
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    socket.on("data", (chunk) => {
      text += chunk.toString();
      if (text.startsWith("HTTP/1.1 200")) outcome = "answered";
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      outcome = error.code === "ECONNREFUSED" ? "refused" : "reset";
    });
    socket.on("close", () => resolve(outcome));
  });
}

/** Clients that each open one connection after the other, until one is refused. */
export async function untilRefused(url: string, clients: number): Promise<ReadonlyMap<Outcome, number>> {
  const outcomes = new Map<Outcome, number>();
  const client = async () => {
    for (let outcome: Outcome | undefined; outcome !== "refused"; ) {
      outcome = await askOnce(url);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return outcomes;
}
