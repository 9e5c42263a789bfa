import { scattered } from "../../test/fixture/recipes.ts";
import { idOf } from "../../test/fixture/seed.ts";

/** The operations that are compared. */
export type Question = "grant" | "list" | "check" | "batch" | "me" | "user" | "application" | "password";

/** How many roles each user holds from the beginning: one in each of the first projects. */
export const held = 10;

/** The first users get further roles while it is measured, the others keep those that they hold. */
export const receivers = 1000;
export const holders = 1000;
export const users = receivers + holders;

/** The number of questions in a batch. */
export const batch = 100;

/** The user and the project of a role; each number has a pair of its own, which nobody holds yet from the first number on. */
export const firstGrant = receivers * held;
export const grantOf = (n: number) => ({
  userId: idOf("user", scattered(n, receivers)),
  projectId: idOf("project", Math.floor(n / receivers)),
});

/** A user that holds its roles and no more. */
export const holderOf = (n: number): string => idOf("user", receivers + scattered(n, holders));

/** A question whether a user holds the role in a project; every fourth one is to be denied. */
export const checkOf = (n: number) => {
  const isHeld = n % 4 !== 3;
  const project = (n % held) + (isHeld ? 0 : held);
  return { userId: holderOf(n), projectId: idOf("project", project), isHeld };
};

/** The questions of one batch. */
export const batchOf = (n: number) => Array.from({ length: batch }, (_, at) => checkOf(n * batch + at));

/** How often a text is in another. */
export function countOf(text: string | Buffer, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}
