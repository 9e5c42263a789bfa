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
import { type Call, callerOf, keys, organizationOf } from "../deps.ts";
import { refuse } from "../errors.ts";
import { sameBytes } from "../security/compare.ts";
import type { Keyring } from "../security/seal.ts";

type Unary = (request: Message, call: Call) => Promise<object>;

/** The record of a write that was done before. */
export type DoneBefore = { readonly request: Uint8Array; readonly answer: Uint8Array };

/** What the guard is made of. */
export type IdempotencyParts = {
  readonly recordOf: (of: { caller: string; operation: string; key: string }) => Promise<DoneBefore | undefined>;
  readonly keyring: Keyring;
  readonly clock: () => Date;
};

const header = "idempotency-key";
const longest = 200;

/** A write that is repeated with its key answers what it answered first. */
export function idempotency(
  method: DescMethod,
  { recordOf, keyring, clock }: IdempotencyParts,
): (next: Unary) => Unary {
  if (!isKeyed(method)) return (next) => next;
  const operation = `${method.parent.typeName}/${method.name}`;

  return (next) => async (request, call) => {
    const key = call.requestHeader.get(header);
    if (key === null) return next(request, call);
    refuseMalformed(key);
    const caller = callerOf(call).userId;
    const body = Buffer.concat([Buffer.from(`${organizationOf(call)}\n`), toBinary(method.input, request)]);
    const before = await recordOf({ caller, operation, key });
    if (before) return answerOf(before, body, contextOf(caller, key));
    call.values.set(keys.idempotency, {
      ...{ caller, operation, key, created: clock(), request: keyring.mac("idempotency", body) },
      seal: (answer) => keyring.seal(bytesOf(method, answer), contextOf(caller, key)),
    });
    return next(request, call);
  };

  function answerOf({ request, answer }: DoneBefore, body: Uint8Array, context: string): Message {
    if (!keyring.macs("idempotency", body).some((mac) => sameBytes(mac, request))) {
      throw refuse.because("IDEMPOTENCY_KEY_REUSED");
    }
    return fromBinary(method.output, keyring.open(answer, context));
  }

  function contextOf(caller: string, key: string): string {
    return `idempotency ${caller} ${operation} ${key}`;
  }
}

/** Says whether the key means something: on every write of a caller who is known. */
function isKeyed(method: DescMethod): boolean {
  const reads = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  return method.methodKind === "unary" && !reads && getOption(method, access).who.case !== "anyone";
}

function bytesOf(method: DescMethod, answer: unknown): Uint8Array {
  return toBinary(method.output, create(method.output, answer as MessageInitShape<typeof method.output>));
}

function refuseMalformed(key: string): void {
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= longest) return;
  const description = `must be 1 to ${longest} visible ASCII characters`;
  throw refuse.invalid([{ field: header, description, reason: "IDEMPOTENCY_KEY_MALFORMED" }]);
}
