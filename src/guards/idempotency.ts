import {
  create,
  type DescMethod,
  fromBinary,
  getOption,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { access } from "../../gen/postern/v1/options_pb.ts";
import { type Call, callerOf, keys } from "../deps.ts";
import { reasonOf, refuse } from "../errors.ts";
import { sameBytes } from "../security/compare.ts";
import { oneAtATime } from "../security/one_at_a_time.ts";
import type { Keyring } from "../security/seal.ts";

/** A request with its call, which may have a key. */
export type KeyedRequest = { readonly request: Message; readonly call: Call };

/** The record of an earlier write. */
export type DoneBefore = { readonly request: Uint8Array; readonly answer: Uint8Array };

export type IdempotencyOptions = {
  readonly recordOf: (of: { caller: string; operation: string; key: string }) => Promise<DoneBefore | undefined>;
  readonly keyring: Keyring;
  readonly clock: () => Date;
};

export type Keyed = {
  /** Runs a write, or answers a repeated one with the first response. */
  readonly once: <T>(work: () => Promise<T>, keyed: KeyedRequest, recorded: (answer: Message) => T) => Promise<T>;
  /** Reads the earlier response to exactly this request; undefined if there is none, or no key. */
  readonly answered: (request: Message, call: Call) => Promise<Message | undefined>;
};

const header = "idempotency-key";
const place = "x-service-orgid";
const longest = 200;

export function idempotency(method: DescMethod, { recordOf, keyring, clock }: IdempotencyOptions): Keyed {
  if (!isKeyed(method)) return { once: (work) => work(), answered: async () => undefined };
  const operation = `${method.parent.typeName}/${method.name}`;
  const bodyOf = bodyReader(method);
  const alone = oneAtATime();
  return { once, answered };

  async function once<T>(work: () => Promise<T>, keyed: KeyedRequest, recorded: (answer: Message) => T): Promise<T> {
    const key = keyIn(keyed.call);
    if (key === undefined) return work();
    // Concurrent repetitions wait, because they would spend attempts and hash passwords only to lose the race.
    return alone(`${callerOf(keyed.call).userId} ${key}`, () => unlessDone(work, keyed, recorded));
  }

  async function unlessDone<T>(
    work: () => Promise<T>,
    { request, call }: KeyedRequest,
    recorded: (answer: Message) => T,
  ) {
    call.signal.throwIfAborted();
    const before = await answered(request, call);
    if (before) return recorded(before);
    call.values.set(keys.idempotency, recordFor(request, call));
    try {
      return await work();
    } catch (error) {
      // A repetition on another node may have finished in the meantime and caused this error. If this call wrote, the record is its own, and
      // it may have withdrawn what it wrote.
      const mayBeDone = reasonOf(error) !== undefined && !call.values.get(keys.written);
      const meanwhile = mayBeDone && (await answered(request, call).catch(() => undefined));
      if (meanwhile) return recorded(meanwhile);
      throw error;
    }
  }

  async function answered(request: Message, call: Call): Promise<Message | undefined> {
    const key = keyIn(call);
    if (key === undefined) return undefined;
    const caller = callerOf(call).userId;
    const before = await recordOf({ caller, operation, key });
    if (!before) return undefined;
    if (!keyring.macs("idempotency", bodyOf(request, call)).some((mac) => sameBytes(mac, before.request))) {
      throw refuse.because("IDEMPOTENCY_KEY_REUSED");
    }
    return fromBinary(method.output, keyring.open(before.answer, contextOf(operation, caller, key)));
  }

  function recordFor(request: Message, call: Call) {
    const [caller, key] = [callerOf(call).userId, keyIn(call) ?? ""];
    return {
      caller,
      operation,
      key,
      created: clock(),
      request: keyring.mac("idempotency", bodyOf(request, call)),
      seal: (answer: unknown) => keyring.seal(bytesOf(method, answer), contextOf(operation, caller, key)),
    };
  }
}

/** The context that a sealed response is bound to. */
const contextOf = (operation: string, caller: string, key: string): string =>
  `idempotency ${caller} ${operation} ${key}`;

/**
 * Makes the function that reads the bytes which a repeated request must have in common: the message, and the organization in the header.
 */
function bodyReader(method: DescMethod): (request: Message, call: Call) => Buffer {
  const { organization } = getOption(method, access);
  return (request, call) => {
    const named = organization ? call.requestHeader.get(place)?.trim() || callerOf(call).organization : "";
    return Buffer.concat([Buffer.from(`${named}\n`), toBinary(method.input, request)]);
  };
}

/** Whether a key has an effect: on every write by an authenticated caller. */
function isKeyed(method: DescMethod): boolean {
  const reads = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  return method.methodKind === "unary" && !reads && getOption(method, access).who.case !== "anyone";
}

function bytesOf(method: DescMethod, answer: unknown): Uint8Array {
  return toBinary(method.output, create(method.output, answer as MessageInitShape<typeof method.output>));
}

function keyIn({ requestHeader }: Call): string | undefined {
  const key = requestHeader.get(header);
  if (key === null || (/^[\x21-\x7e]+$/.test(key) && key.length <= longest)) return key ?? undefined;
  const params = { max: longest };
  throw refuse.invalid([{ field: header, text: "TEXT_KEY", params, reason: "IDEMPOTENCY_KEY_MALFORMED" }]);
}
