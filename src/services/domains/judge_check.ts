import type { CheckResult, DomainRow } from "./domain_row.ts";

/** A domain, with the state that decides about the result of a lookup. All times are the database's. */
export type CheckedDomain = DomainRow & {
  readonly lease: bigint;
  /** Whether another organization has the domain. */
  readonly isTaken: boolean;
  /** The time since the last fact about the domain. */
  readonly waitedSeconds: number;
  /** The time left until a domain whose record is missing is lost. */
  readonly secondsLeft: number | null;
};

/** The consequences of a lookup: the result to show, the fact to record, and the pause before the next lookup. */
export type Judgement = {
  readonly result: CheckResult;
  readonly becomes?: "verified" | "recordMissed" | "lost";
  readonly seconds: number;
};

/** How long the record of a domain may be missing. */
export const lossDays = 3;

const hour = 3_600;
const day = 24 * hour;

/** The pause after a lookup of a domain that the organization does not have: the time since the last fact, from a minute to a day. */
export const pauseAfter = (waitedSeconds: number): number => Math.min(Math.max(waitedSeconds, 60), day);

/** Decides the consequences of a lookup. A failure of DNS changes nothing, however long it lasts. */
export function judge(
  domain: Pick<CheckedDomain, "proven" | "missingSince" | "isTaken" | "waitedSeconds" | "secondsLeft">,
  result: Exclude<CheckResult, "taken">,
): Judgement {
  const { proven, missingSince, isTaken, waitedSeconds, secondsLeft } = domain;
  const pause = pauseAfter(waitedSeconds);
  switch (result) {
    case "failed":
      return { result, seconds: proven ? hour : pause };
    case "found":
      if (!proven && isTaken) return { result: "taken", seconds: pause };
      return proven && missingSince === null ? { result, seconds: day } : { result, becomes: "verified", seconds: day };
    case "missing":
      if (!proven) return { result, seconds: pause };
      if (secondsLeft === null) return { result, becomes: "recordMissed", seconds: hour };
      if (secondsLeft <= 0) return { result, becomes: "lost", seconds: hour };
      return { result, seconds: Math.min(hour, secondsLeft + 1) };
  }
}

/** Shortens a pause of hours by up to an eighth, so that the lookups of domains that were added together spread over the day. */
export const spread = (seconds: number, random: () => number = Math.random): number =>
  seconds > hour ? seconds * (1 - random() / 8) : seconds;
