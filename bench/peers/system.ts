import type { What } from "../../packages/gateway/bench/load/generator.ts";
import type { Question } from "./question.ts";

/** The kinds of doors that are compared with each other. */
export type DoorKind = "grpc" | "json";

/** A way to call a system. */
export type Door = { readonly who: string; readonly kind: DoorKind; readonly url: string };

/** A system that is compared, running on a database of its own. */
export type System = AsyncDisposable & {
  readonly name: "Postern" | "OpenFGA" | "Keycloak";
  /** The process whose CPU and memory count. */
  readonly pid: number;
  readonly doors: readonly Door[];
  readonly can: readonly Question[];
  /** The seconds of load until its code is compiled. */
  readonly warmSeconds: number;
  /** The calls of a question through a door. */
  readonly callsOf: (question: Question, door: Door) => What;
  /** Starts it once more on the same database, beside itself, until it answers. */
  readonly startAgain: () => Promise<AsyncDisposable>;
};
