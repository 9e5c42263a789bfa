import type { Goal } from "../../packages/gateway/bench/report.ts";
import type { Question } from "./question.ts";
import type { Door, DoorKind, System } from "./system.ts";

/** An operation, the numbers of callers it is measured with, and the least ratio to a peer by that number. */
export type Case = {
  readonly name: string;
  readonly question: Question;
  readonly callers: readonly number[];
  /** The kinds of doors that take part. */
  readonly kinds: readonly DoorKind[];
  readonly least?: Bounds;
  /** The question that one of many is set beside. */
  readonly beside?: Question;
};

type Bounds = {
  readonly peer: "OpenFGA" | "Keycloak";
  readonly kinds: readonly DoorKind[];
  readonly byCallers: Readonly<Record<number, number>>;
};

const callers = [1, 32, 128];
const json: readonly DoorKind[] = ["json"];
const kinds: readonly DoorKind[] = ["grpc", "json"];
const eightfold: Bounds = { peer: "Keycloak", kinds: json, byCallers: { 32: 8 } };

/** The rows of the table. */
export const cases: readonly Case[] = [
  {
    ...{ name: "grant one role", question: "grant", callers, kinds },
    least: { peer: "OpenFGA", kinds, byCallers: { 1: 1, 32: 1.5, 128: 2.5 } },
  },
  {
    ...{ name: "list what one user holds (10)", question: "list", callers, kinds },
    least: { peer: "OpenFGA", kinds, byCallers: { 1: 1.2, 32: 1.2, 128: 1.2 } },
  },
  {
    ...{ name: "does this user hold this role", question: "check", callers, kinds },
    least: { peer: "OpenFGA", kinds, byCallers: { 1: 1.2, 32: 1.5, 128: 1.5 } },
  },
  { name: "a batch of 100 checks", question: "batch", callers: [1, 32], kinds, beside: "check" },
  {
    ...{ name: "who am I", question: "me", callers, kinds },
    // Keycloak's door is JSON.
    least: { peer: "Keycloak", kinds: json, byCallers: { 1: 1.5, 32: 1.5, 128: 1.5 } },
  },
  { name: "create a user", question: "user", callers: [32], kinds: json, least: eightfold },
  { name: "create an application", question: "application", callers: [32], kinds: json, least: eightfold },
  {
    ...{ name: "create a user with a password", question: "password", callers: [32], kinds: json },
    least: { peer: "Keycloak", kinds: json, byCallers: { 32: 1 } },
  },
];

// A lone caller's batch; many callers who ask one each have their questions answered together as well.
const mostOfBatch = { "to one": { most: 3 } };

/** The goals of a door of ours; none for those of others. */
export function goalsOf({ least, beside }: Case, { who, kind }: Door, count: number): Readonly<Record<string, Goal>> {
  if (!who.startsWith("Postern")) return {};
  const bound = least?.kinds.includes(kind) ? least.byCallers[count] : undefined;
  return {
    ...(least && bound && { [`x ${least.peer}`]: { least: bound } }),
    ...(beside && count === 1 && mostOfBatch),
  };
}

/**
 * Whether rows are chosen: by a part of their name, by that and a number of callers (`list · 32`), or by several of these, separated by
 * commas.
 */
export function isChosen(name: string, only: string | undefined, count?: number): boolean {
  return (only ?? "").split(",").some((one) => {
    const [part = "", number] = one.split("·").map((text) => text.trim());
    return name.includes(part) && (!number || Number(number) === count);
  });
}

const cached = "keeps the users and roles that it read in its memory";

const differences: Readonly<Record<System["name"], Readonly<Partial<Record<Question, string>>>>> = {
  Postern: {},
  OpenFGA: {
    grant: "does not look whether user and project exist; writes the tuple and a row of changes",
    list: "tuples without versions, states and names",
    check: "knows no state of user, project and organization",
    batch: "a statement for each check; 50 at most by default",
  },
  Keycloak: {
    grant: `records no event; ${cached}`,
    list: cached,
    check: `the roles of the user in one client; ${cached}`,
    me: "userinfo; a session in the database, cached",
    user: "records no event",
    application: "a client with its default scopes; records no event",
    password: "records no event; argon2id at the same cost",
  },
};

/** The difference between what a system does for a question and what Postern does. */
export const differenceOf = ({ name }: System, question: Question): string | undefined => differences[name][question];
