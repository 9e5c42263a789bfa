import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { FactorRefusal } from "../../../gen/postern/v1/factor_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { factOf, next } from "../../events/fact.ts";
import { lostRace } from "../../events/log.ts";
import { aside } from "../writing/aside.ts";
import type { FactorRow } from "./factor_read.ts";

export { FactorRefusal };

/** A factor that failed at sign-in, the reason, and until when codes are refused after it. */
export type RefusedFactor = {
  readonly row: FactorRow;
  readonly reason: FactorRefusal;
  readonly until?: Date | undefined;
};

// The wait after five wrong codes bounds guesses at codes. Passkey responses have no such wait, and anybody who knows a credential id can
// send them.
const passkeysPerMinute = 5;

/** Makes the function that records refused factors, so that operators notice guessing and cloned keys. */
export function factorRefusals({ log, clock, failureRate }: Pick<Deps, "log" | "clock" | "failureRate">) {
  const ofPasskey = failureRate("refused passkeys", passkeysPerMinute);

  return async (refused: RefusedFactor, call: Call): Promise<void> => {
    const { row, reason, until } = refused;
    if (reason !== FactorRefusal.CODE && !mayRecord(row.id)) return;
    const value = { userId: row.userId, reason, ...(until ? { until: timestampFromDate(until) } : {}) };
    const fact = factOf("factor", next(row, clock()), { case: "refused", value });
    // Of two concurrent refusals only one records the fact; both sign-ins fail.
    await log.append(aside(call), [fact], true).catch(lostRace);
  };

  function mayRecord(factorId: string): boolean {
    const now = performance.now();
    if (ofPasskey.waitMs(factorId, now) > 0) return false;
    ofPasskey.count(factorId, now);
    return true;
  }
}

export type RecordRefusal = ReturnType<typeof factorRefusals>;
