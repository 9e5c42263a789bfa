import { setTimeout as pause } from "node:timers/promises";
import { type Answer, clientOf } from "../harness.ts";
import type { Filled } from "./filled_instance.ts";

/** Callers at work on several nodes in turn, each on users of its own. */
export type Traffic = {
  /** The calls that were not answered as they had to be. */
  readonly failures: readonly string[];
  /** The nodes that are called. */
  readonly urls: string[];
  /** Begins to keep times anew; returns those that were kept, by the name of the call. */
  readonly cut: () => ReadonlyMap<string, readonly number[]>;
  /** Waits for so many more calls. */
  readonly more: (count: number) => Promise<void>;
  /** Ends when each caller has ended its round; returns the users that there have to be. */
  readonly stop: () => Promise<readonly string[]>;
};

type TrafficOptions = { readonly url: string; readonly token: string; readonly organizations: readonly Filled[] };
type Sent = readonly [method: string, path: string, body?: unknown];
/** Makes a call as the administrator, or with another token; throws unless it is answered. */
type Caller = (kind: string, sent: Sent, as?: string) => Promise<Answer["body"]>;

const callers = 6;
// Calls come one after the other, so that a p99 is not that of a queue in front of a busy processor.
const restMs = 25;

/** Starts callers that go on until they are stopped. */
export function startTraffic({ url, token, organizations }: TrafficOptions): Traffic {
  const urls = [url];
  const failures: string[] = [];
  const users: string[] = [];
  let times = new Map<string, number[]>();
  let [calls, isStopped] = [0, false];
  const work = async (nth: number) => {
    for (let round = 0; !isStopped; round++) {
      const at = organizations[(nth + round) % organizations.length] ?? { organizationId: "", projectId: "" };
      const word = `w${nth}x${round}y${organizations.length}`;
      await roundOf({ call: callerOf(at), at, word, users }).catch((error) => failures.push(String(error)));
    }
  };
  const callerOf =
    ({ organizationId }: Filled): Caller =>
    async (kind, sent, as = token) => {
      await pause(restMs);
      const node = urls[calls++ % urls.length] ?? url;
      const began = performance.now();
      const [method, path, body] = sent;
      const answer = await clientOf(node, as).call(method, path, body, { "x-service-orgid": organizationId });
      times.set(kind, [...(times.get(kind) ?? []), performance.now() - began]);
      if (answer.status === 200) return answer.body;
      throw new Error(`${kind} at ${urls.indexOf(node)}: ${answer.status} ${JSON.stringify(answer.body)}`);
    };
  const all = Promise.all(Array.from({ length: callers }, (_, nth) => work(nth)));
  return {
    ...{ failures, urls },
    cut() {
      const kept = times;
      times = new Map();
      return kept;
    },
    async more(count) {
      for (const enough = calls + count; calls < enough; ) await pause(20);
    },
    async stop() {
      isStopped = true;
      await all;
      return users;
    },
  };
}

type Round = { call: Caller; at: Filled; word: string; users: string[] };

/** The life of a user: created, found, changed, granted roles, found by its new words alone; every third one is deleted. */
async function roundOf({ call, at: { projectId }, word, users }: Round): Promise<void> {
  const human = { username: word, givenName: `Old${word}`, familyName: "Traffic", email: `${word}@example.com` };
  const password = "Blue-Kettle-42";
  const { userId } = await call("CreateHumanUser", ["POST", "/v1/users/human", { ...human, password }]);
  const search = async (text: string, ids: readonly string[]) => {
    const { users: found } = await call("ListUsers", ["GET", `/v1/users?filter.search=${text}`]);
    same(
      `the users with ${text}`,
      (found ?? []).map((one: { id: string }) => one.id),
      ids,
    );
  };
  await search(`Old${word}`, [userId]);
  const { token } = await call("CreateSession", ["POST", "/v1/sessions", { loginName: word, password }]);
  const phone = `+4178${String(Math.abs(hash(word)) % 10_000_000).padStart(7, "0")}`;
  await call("ChangePhone", ["POST", `/v1/users/${userId}/phone`, { phone, isVerified: true }]);
  await call("UpdateHumanUser", ["PATCH", `/v1/users/${userId}/human`, { givenName: `New${word}` }]);
  await search(`Old${word}`, []);
  await search(`New${word}`, [userId]);
  same("the phone", (await call("GetUser", ["GET", `/v1/users/${userId}`])).user.human.phone, phone);
  await call("AddUserGrant", ["POST", `/v1/users/${userId}/grants`, { projectId, roleKeys: ["reader"] }]);
  const { userGrants } = await call("ListUserGrants", ["GET", `/v1/users/${userId}/grants`]);
  same("the grants", userGrants.length, 1);
  const app = { name: `App ${word}`, redirectUris: [`https://${word}.example.com/callback`] };
  const { appId } = await call("CreateOidcApplication", ["POST", `/v1/projects/${projectId}/applications/oidc`, app]);
  const path = `/v1/projects/${projectId}/applications?filter.search=${word}`;
  const { applications } = await call("ListApplications", ["GET", path]);
  same(
    "the applications",
    (applications ?? []).map((one: { id: string }) => one.id),
    [appId],
  );
  const change = { oldPassword: password, newPassword: "Quiet-Harbour-5718" };
  await call("ChangePassword", ["PUT", "/v1/users/me/password", change], token);
  if (Math.abs(hash(word)) % 3 > 0) return void users.push(userId);
  await call("DeleteUser", ["DELETE", `/v1/users/${userId}`]);
  await search(`New${word}`, []);
}

function same(what: string, found: unknown, expected: unknown): void {
  if (JSON.stringify(found) === JSON.stringify(expected)) return;
  throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}

const hash = (text: string): number => [...text].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) | 0, 7);
