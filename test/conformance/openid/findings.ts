import { listed } from "./listed.ts";
import type { Entry, State } from "./suite.ts";

/** The module of a plan that a finding is of, and the names of the pages that its browser saw. */
export type Subject = {
  readonly plan: string;
  readonly module: string;
  readonly testId: string;
  readonly pages: readonly string[];
};

/** Anything but a success. */
export type Finding = Subject & {
  readonly result: "FAILED" | "WARNING" | "REVIEW" | "SKIPPED";
  readonly condition: string;
  readonly message: string;
};

const results: Readonly<Record<string, Finding["result"]>> = {
  FAILURE: "FAILED",
  FAILED: "FAILED",
  INTERRUPTED: "FAILED",
  UNKNOWN: "FAILED",
  WARNING: "WARNING",
  REVIEW: "REVIEW",
  SKIPPED: "SKIPPED",
};

/** The findings in the log of a module; its own result is one too, where no entry of the log has it. */
export function findingsIn(of: Subject, state: State, log: readonly Entry[]): readonly Finding[] {
  const found = log.flatMap(({ src, result = "", msg = "" }): Finding[] => {
    const named = results[result];
    return named ? [{ ...of, result: named, condition: src, message: msg }] : [];
  });
  const whole = results[state.status === "INTERRUPTED" ? state.status : state.result];
  if (!whole || found.some(({ result }) => result === whole)) return found;
  return [...found, { ...of, result: whole, condition: "", message: `the module ended as ${state.result}` }];
}

/** Whether a finding is expected: a failure never is, and a page to be reviewed must be the listed one. */
export function isListed({ result, module, condition, pages }: Finding): boolean {
  if (result === "FAILED") return false;
  return listed.some(
    (one) =>
      one.result === result &&
      one.module === module &&
      one.condition === condition &&
      (one.pages === undefined || one.pages.includes(pages.join(", "))),
  );
}

/** The listed findings that a run did not have. */
export const unseen = (findings: readonly Finding[]) =>
  listed.filter(
    (one) => !findings.some(({ module, condition }) => module === one.module && condition === one.condition),
  );
