import { type DescMethod, getOption, type Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { access } from "../../gen/postern/v1/options_pb.ts";
import type { Call } from "../deps.ts";
import { type MessageRule, reasonOf } from "../errors.ts";
import { type Authenticate, authenticate } from "./authenticate.ts";
import { authorize } from "./authorize.ts";
import type { CallerCache } from "./caller_cache.ts";
import { crossFieldRules } from "./cross_field.ts";
import type { Lookups } from "./holding.ts";
import { type IdempotencyParts, idempotency } from "./idempotency.ts";
import { type Outages, outage } from "./outage.ts";
import type { Report } from "./report.ts";
import { retry } from "./retry.ts";
import { type RulesOf, validate } from "./validate.ts";

type Unary = (request: Message, call: Call) => Promise<object>;
type Step = (request: Message, call: Call) => Promise<void> | void;
type Stream = (request: Message, call: Call) => AsyncIterable<object>;

const recheckMs = 1000;

/** What the guards are made of. */
export type ChainParts = {
  readonly report: Report;
  readonly callers: CallerCache;
  readonly rules: RulesOf;
  /** The declared rules of requests as a whole. */
  readonly declared: readonly MessageRule[];
  readonly lookups: Lookups;
  readonly idempotency: IdempotencyParts;
  readonly outages: Outages;
};

/** Everything that comes before and after a handler, in this order, made once for each rpc. */
export function chain(parts: ChainParts) {
  const inWords = outage(parts.outages);
  return {
    /** Finds out who calls before a body is read. */
    gate(method: DescMethod): Authenticate {
      const known = authenticate(method, parts.callers);
      return parts.report.atGate(method, (call) => {
        const caller = known(call);
        return caller instanceof Promise ? caller.catch((error) => Promise.reject(inWords(error))) : caller;
      });
    },

    unary(method: DescMethod, handler: Unary): Unary {
      const enter = entrance(method, parts);
      const { once, answered } = idempotency(method, parts.idempotency);
      // A lost race begins again outside the idempotency guard: the race may have been lost to its own twin.
      const sound = crossFieldRules(method, parts.declared, handler);
      const command = isRead(method) ? sound : retry(once(sound));
      return parts.report.unary(method, async (request, call) => {
        try {
          await enter(request, call);
        } catch (error) {
          // What is missing may be what this very request took away.
          const before = isMissing(error) ? await answered(request, call) : undefined;
          if (before) return before;
          throw inWords(error);
        }
        try {
          return await command(request, call);
        } catch (error) {
          throw inWords(error);
        }
      });
    },

    stream(method: DescMethod, handler: Stream): Stream {
      const checked = rechecked(entrance(method, parts), crossFieldRules(method, parts.declared, handler));
      return parts.report.stream(method, async function* (request, call) {
        try {
          yield* checked(request, call);
        } catch (error) {
          throw inWords(error);
        }
      });
    },
  };
}

/** A stream outlives tokens and roles: what is revoked ends it before the next answer, within a second. */
function rechecked(enter: Step, handler: Stream): Stream {
  return async function* (request, call) {
    await enter(request, call);
    let checked = performance.now();
    for await (const answer of handler(request, call)) {
      if (performance.now() - checked > recheckMs) {
        await enter(request, call);
        checked = performance.now();
      }
      yield answer;
    }
  };
}

const isMissing = (error: unknown) => reasonOf(error)?.endsWith("_NOT_FOUND") === true;

const isRead = ({ idempotency }: DescMethod) => idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;

function entrance(method: DescMethod, { callers, rules, lookups }: ChainParts): Step {
  const wellFormed = validate(method, rules);
  if (getOption(method, access).who.case === "anyone") return wellFormed;
  const known = authenticate(method, callers);
  const allowed = authorize(method, lookups);
  return async (request, call) => {
    await known(call);
    wellFormed(request);
    await allowed(request, call);
  };
}
