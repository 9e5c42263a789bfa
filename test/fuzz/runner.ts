import type { Client } from "../rest_client.ts";
import { callOf, type Pool } from "./call.ts";
import { findingIn } from "./finding.ts";
import { openSender } from "./sender.ts";

/** A run: seeds from the first one on, as many at once as there are senders. */
export type FuzzRun = {
  readonly url: string;
  readonly pool: Pool;
  readonly first: number;
  readonly count: number;
  readonly senders?: number;
  readonly onFinding: (seed: number, finding: string) => void;
  readonly onProgress?: (done: number) => void;
};

/** How many requests were answered, by their status. */
export type Statuses = Readonly<Record<string, number>>;

/** Sends the requests of the seeds. */
export async function fuzz({
  url,
  pool,
  first,
  count,
  senders = 8,
  onFinding,
  onProgress,
}: FuzzRun): Promise<Statuses> {
  const statuses: Record<string, number> = {};
  let next = 0;
  async function work(): Promise<void> {
    using sender = openSender(url);
    while (next < count) {
      const seed = first + next++;
      const call = callOf(seed, pool);
      const response = await sender.send(call).catch((error: Error) => void onFinding(seed, error.message));
      const status = response ? String(response.status) : "none";
      statuses[status] = (statuses[status] ?? 0) + 1;
      const finding = response && findingIn(response);
      if (finding) onFinding(seed, finding);
      onProgress?.(next);
    }
  }
  await Promise.all(Array.from({ length: senders }, work));
  return statuses;
}

/** Makes a few objects, and a second user with a role, for requests to name. The administrator itself is not among them. */
export async function poolOf(admin: Client, as: (token: string) => Client): Promise<Pool> {
  const made = async (path: string, body: object = {}) => (await admin.post(path, body)).body;
  const { organizationId } = await made("/v1/organizations", { name: "Fuzzed" });
  const { userId } = await made("/v1/users/machine", { username: "fuzzed-robot", name: "Robot" });
  const { token } = await made(`/v1/users/${userId}/tokens`);
  const person = { username: "fuzzed", givenName: "Ada", familyName: "Byron", email: "ada@example.com" };
  const { userId: humanId } = await made("/v1/users/human", { ...person, password: "Blue-Kettle-42" });
  const { projectId } = await made("/v1/projects", { name: "Fuzzed" });
  await made(`/v1/projects/${projectId}/roles`, { key: "viewer" });
  const { appId } = await made(`/v1/projects/${projectId}/applications/oidc`, { name: "Fuzzed" });
  if ((await as(token).get("/v1/users/me")).status !== 200) throw new Error("the pool is not complete");
  const ids = [
    organizationId,
    humanId,
    humanId,
    projectId,
    projectId,
    appId,
    "none",
    "",
    "0".repeat(24),
    "x".repeat(201),
  ];
  return { tokens: [String(admin.token), String(admin.token), token], ids };
}
