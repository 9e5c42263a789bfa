import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "../first_start.ts";
import type { Client } from "../harness.ts";
import { type Call, type Caller, isTrouble, type Outcome, openCaller, protocols } from "./caller.ts";
import { type Operation, operations, type Subject } from "./operations.ts";

/** The writes of one effect: every one that was acknowledged must be in the log, and none that was refused. */
export type Count = { acknowledged: number; unknown: number };

/** 32 writers at work: each protocol, each operation, with idempotency keys and without. */
export type Writers = {
  /** The effects of all writes so far, as far as they are known. */
  readonly effects: ReadonlyMap<string, Count>;
  readonly total: { acknowledged: number; unknown: number; refused: number; repeated: number };
  /** Why calls were not acknowledged, with their numbers. */
  readonly reasons: ReadonlyMap<string, number>;
  /** Waits for so many more acknowledgements. */
  readonly more: (count: number) => Promise<void>;
  /**
   * Waits until each writer had a write acknowledged that it began after now; answers the longest time without any, since the
   * last call of `more` ended.
   */
  readonly back: () => Promise<number>;
  /** Ends when each writer has had its last keyed write acknowledged. */
  readonly stop: () => Promise<void>;
  /** Each user with the passwords that it may have. */
  readonly passwords: () => readonly { readonly loginName: string; readonly candidates: readonly string[] }[];
};

type Writer = {
  readonly name: string;
  readonly caller: Caller;
  readonly operation: Operation;
  readonly subject: Subject;
  readonly token: string;
  readonly isKeyed: boolean;
  lastBegan: number;
};

const restMs = 50;
const longestMs = 240_000;

/** Makes the users and their sessions, one after the other: all at once they wait for each other's hashes on a busy machine. */
export async function subjectsOf(admin: Client): Promise<Subject[]> {
  const subjects: Subject[] = [];
  while (subjects.length < 32)
    subjects.push(await eventually(() => subjectOf(admin, subjects.length), `subject ${subjects.length}`));
  return subjects;
}

/** Undefined where a statement took longer than it may on this stage: another user is made then. */
async function subjectOf(admin: Client, number: number): Promise<Subject | undefined> {
  const password = "Blue-Kettle-42";
  const loginName = `writer-${number}-${randomBytes(3).toString("hex")}`;
  const person = { username: loginName, givenName: "Ada", familyName: "Byron", email: "ada@example.com", password };
  const created = await admin.post("/v1/users/human", person);
  const session = await admin.post("/v1/sessions", { loginName, password });
  if (session.status !== 200) return undefined;
  return { number, userId: String(created.body.userId), loginName, password, token: String(session.body.token) };
}

type WritersOptions = {
  readonly url: string;
  readonly token: string;
  readonly subjects: readonly Subject[];
  /** How long a writer rests after a write that was acknowledged; not at all when left out. */
  readonly pauseMs?: number;
};

/** Starts writers that go on until they are stopped. */
export function startWriters({ url, token, subjects, pauseMs = 0 }: WritersOptions): Writers {
  const effects = new Map<string, Count>();
  const reasons = new Map<string, number>();
  const total = { acknowledged: 0, unknown: 0, refused: 0, repeated: 0 };
  let isStopped = false;
  let [lastAt, longestGapMs] = [performance.now(), 0];
  const writers = Object.entries(operations).flatMap(([called, operationOf], o) =>
    protocols.flatMap((protocol, p) =>
      [true, false].map((isKeyed, k): Writer => {
        const subject = subjects[(o * protocols.length + p) * 2 + k] as Subject;
        const operation = operationOf(subject);
        const by = operation.own ? subject.token : token;
        const name = `${called} by ${protocol}${isKeyed ? " with keys" : ""}`;
        return { name, caller: openCaller(protocol, url), operation, subject, token: by, isKeyed, lastBegan: -1 };
      }),
    ),
  );
  const all = Promise.all(writers.map(work));
  all.catch(() => {});
  return {
    ...{ effects, reasons, total },
    async more(count) {
      const enough = total.acknowledged + count;
      await waitFor(() => total.acknowledged >= enough);
      longestGapMs = 0;
    },
    async back() {
      const since = performance.now();
      const late = () => writers.filter(({ lastBegan }) => lastBegan <= since).map(({ name }) => name);
      await waitFor(() => late().length === 0, late);
      return longestGapMs;
    },
    async stop() {
      isStopped = true;
      await all;
    },
    passwords: () =>
      writers.map(({ operation, subject: { loginName } }) => ({ loginName, candidates: operation.passwords() })),
  };

  async function waitFor(condition: () => boolean, late?: () => unknown): Promise<void> {
    for (const end = performance.now() + longestMs; !condition(); await Promise.race([pause(10), all]))
      if (performance.now() > end)
        throw new Error(`waited too long: ${JSON.stringify({ late: late?.(), total, reasons: [...reasons] })}`);
  }

  async function work(writer: Writer): Promise<void> {
    const { operation, subject, token, isKeyed } = writer;
    for (let n = 0; !isStopped; n++) {
      const { request, effect } = operation.write(n);
      const key = isKeyed ? `${subject.userId}-${n}` : undefined;
      const outcome = await written(writer, { method: operation.method, request, token, key });
      if (!operation.learn(outcome)) throw new Error(`${operation.method.name} ${key}: ${JSON.stringify(outcome)}`);
      total[outcome.kind]++;
      if (outcome.kind !== "refused") count(effect, outcome.kind);
      if (outcome.kind !== "acknowledged") await pause(restMs);
      else if (pauseMs > 0) await pause(pauseMs);
    }
  }

  function heed(writer: Writer, began: number): void {
    const now = performance.now();
    longestGapMs = Math.max(longestGapMs, now - lastAt);
    lastAt = now;
    writer.lastBegan = began;
  }

  function count(effect: string, kind: keyof Count): void {
    const counted = effects.get(effect) ?? { acknowledged: 0, unknown: 0 };
    counted[kind]++;
    effects.set(effect, counted);
  }

  /** Makes a call; one with a key is repeated until it is acknowledged, or refused for a reason of its own. */
  async function written(writer: Writer, call: Call): Promise<Outcome> {
    for (const end = performance.now() + longestMs; ; await pause(restMs)) {
      const began = performance.now();
      const outcome = await writer.caller(call);
      if (outcome.kind === "acknowledged") heed(writer, began);
      else reasons.set(outcome.why, (reasons.get(outcome.why) ?? 0) + 1);
      if (!call.key || outcome.kind === "acknowledged" || !isTrouble(outcome)) return outcome;
      if (performance.now() > end) throw new Error(`${call.method.name} ${call.key} was not answered: ${outcome.why}`);
      total.repeated++;
    }
  }
}
