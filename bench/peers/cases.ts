import type { Goal } from "../../packages/gateway/bench/report.ts";
import type { Question } from "./question.ts";
import type { DoorKind } from "./system.ts";

/** An operation, the numbers of callers it is measured with, and the least ratio to a peer by that number. */
export type Case = {
  readonly name: string;
  readonly question: Question;
  readonly callers: readonly number[];
  readonly least?: Bounds;
};

type Bounds = {
  readonly peer: "OpenFGA" | "Keycloak";
  readonly kinds: readonly DoorKind[];
  readonly byCallers: Readonly<Record<number, number>>;
};

const callers = [1, 32, 128];
const both: readonly DoorKind[] = ["grpc", "json"];

/** The rows of the table. */
export const cases: readonly Case[] = [
  {
    ...{ name: "grant one role", question: "grant", callers },
    least: { peer: "OpenFGA", kinds: both, byCallers: { 1: 1, 32: 1.5, 128: 2.5 } },
  },
  {
    ...{ name: "list what one user holds (10)", question: "list", callers },
    least: { peer: "OpenFGA", kinds: both, byCallers: { 1: 1.2, 32: 1.2, 128: 1.2 } },
  },
  {
    ...{ name: "does this user hold this role", question: "check", callers },
    least: { peer: "OpenFGA", kinds: both, byCallers: { 1: 1.2, 32: 1.5, 128: 1.5 } },
  },
  { name: "a batch of 100 checks", question: "batch", callers: [1, 32] },
  {
    ...{ name: "who am I", question: "me", callers },
    least: { peer: "Keycloak", kinds: ["json"], byCallers: { 1: 1.5, 32: 1.5, 128: 1.5 } },
  },
];

/** The least ratio to a peer that a door of ours is to reach. */
export function goalOf({ least }: Case, kind: DoorKind, count: number): Readonly<Record<string, Goal>> {
  const bound = least?.kinds.includes(kind) ? least.byCallers[count] : undefined;
  return least && bound ? { [`x ${least.peer}`]: { least: bound } } : {};
}

/** Whether a case is chosen by a part of its name, or by that and a number of callers: `list · 32`. */
export function isChosen({ name }: Case, count: number, only: string | undefined): boolean {
  const [part = "", number] = (only ?? "").split("·").map((one) => one.trim());
  return name.includes(part) && (!number || Number(number) === count);
}
