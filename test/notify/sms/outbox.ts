import { randomBytes } from "node:crypto";
import type { Call } from "../../../src/deps.ts";
import { newId } from "../../../src/deps.ts";
import { type At, factOf, first, typeOf } from "../../../src/events/fact.ts";
import { openLog } from "../../../src/events/log.ts";
import type { Delivery } from "../../../src/notify/deliveries.ts";
import { type SmsWorkerOptions, startSmsWorker } from "../../../src/notify/sms/worker.ts";
import { connect } from "../../../src/postgres/pool/connect.ts";
import { keyring } from "../../../src/security/seal.ts";
import { phoneFolds } from "../../../src/services/users/user_phone.ts";
import { phoneCodes } from "../../../src/services/verification/phone_code.ts";
import { freshDatabase } from "../../database.ts";
import { appendEarlier } from "./earlier_release.ts";

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const folds = new Map([[typeOf("user", "phoneCodeRequested"), phoneFolds.phoneCodeRequested]]);
const originOf = () => ({ actor: undefined, requestId: newId(), signal: undefined, idempotency: undefined });

/** Connects to a database as a node does. */
export const node = (url: string) => connect(url, { connections: 4, waitMs: 60_000, statementTimeoutMs: 60_000, log });

/** A database whose log asks for SMS, and all that a worker needs. */
export async function openOutbox({ key = randomBytes(32), databaseUrl = "" } = {}) {
  await using opened = new AsyncDisposableStack();
  const url = databaseUrl || opened.use(await freshDatabase()).url;
  const { sql } = opened.use(node(url));
  const keys = keyring([key]);
  const listeners = new Set<() => void>();
  const onAppended = () => {
    for (const look of listeners) look();
  };
  const facts = openLog<Pick<Call, "values">>({ sql, folds, ids: newId, originOf, onAppended });
  const clock = { now: () => new Date() };
  const stack = opened.move();
  return {
    ...{ url, sql, key, keys, clock },

    /** Calls back when `ask` wrote a message as the service does. */
    onWritten(look: () => void) {
      listeners.add(look);
      return () => void listeners.delete(look);
    },

    /** Records that a code is to be sent to a number of a user, as the service does, or as an earlier release of it did. */
    async ask({ userId = newId(), phone = "+41791234567", version = 1n, earlier = false } = {}) {
      const deps = { ids: newId, clock: () => clock.now(), secrets: { keyring: keys } as never };
      const { id, code, secret } = phoneCodes(deps)({
        userId,
        phone,
        nth: BigInt(`0x${randomBytes(6).toString("hex")}`),
      });
      const at: At = { ...first("org", userId, clock.now()), version };
      const fact = factOf("user", at, { case: "phoneCodeRequested", value: { phoneCodeId: id } }, secret);
      if (earlier) await appendEarlier(sql, fact);
      else await facts.append({ values: undefined as never }, [fact], undefined);
      return { id, code, userId, phone };
    },

    /** Ends the leases of held messages and the pauses before their next try. */
    makeDue: () => sql`update sms_messages set due = now()`,

    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** An open outbox. */
export type Outbox = Awaited<ReturnType<typeof openOutbox>>;

/** A worker of its own on the outbox; remembers how each try ended. */
export function startWorker(outbox: Outbox, options: Pick<SmsWorkerOptions, "sender"> & Partial<SmsWorkerOptions>) {
  const deliveries: (Delivery & { id: string; attempts: number })[] = [];
  const worker = startSmsWorker({
    sql: outbox.sql,
    onWritten: () => () => {},
    keyring: outbox.keys,
    clock: () => outbox.clock.now(),
    text: "{code} is your verification code.",
    attempts: 10,
    timeoutMs: 60_000,
    everyMs: 20,
    onDelivery: ({ id, attempts }, delivery) => deliveries.push({ id, attempts, ...delivery }),
    onError: (error) => console.warn(error),
    ...options,
  });
  return { deliveries, [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose]() };
}
