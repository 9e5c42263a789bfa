import { ConnectError, createContextValues } from "@connectrpc/connect";
import { expect } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { keys, systemCall } from "../../src/deps.ts";
import { callSession } from "../../src/services/sessions/new_session.ts";
import { signInsOf } from "../../src/services/sessions/sign_in.ts";
import { signedUp } from "../harness.ts";
import { openHandlers } from "../sent_statements.ts";
import type { TwoNodes } from "../two_nodes.ts";

const hourMs = 3_600_000;
const addresses = 10_000;
const [nodeCount, triesOfPassword] = [2, 10];

/**
 * Guesses at one name for so many days of a clock of its own, from many addresses through two nodes; fails if more than ten in a row are
 * checked, or if its user does not get in by a browser that is known. Answers how often guesses had to wait, and how many were checked.
 */
export async function guessForDays(nodes: TwoNodes, days: number): Promise<{ rounds: number; checked: number }> {
  await using handlers = openHandlers(nodes.one);
  const { userId, username, password } = await signedUp(nodes.one);
  const [began, { sql }] = [Date.now(), handlers.deps];
  let now = began;
  const deps = { ...handlers.deps, clock: () => new Date(now) };
  const each = [signInsOf(deps, nodes.one.config), signInsOf(deps, nodes.one.config)];
  let calls = 0;
  /** The milliseconds to wait, 0 after a wrong password that may have been checked; undefined after a right one. */
  const waitAfter = async (guess: string, browsers: readonly string[] = []): Promise<number | undefined> => {
    const nth = calls++;
    const network = `10.${nth % addresses}`;
    const call = { ...systemCall(`guess-${nth}`), values: createContextValues().set(keys.network, network) };
    const request = { loginName: username, password: guess, newPassword: undefined, browsers, call };
    try {
      await each[nth % nodeCount]?.signIn(request, callSession(nodes.one.config));
      return undefined;
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      return Number(error.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds ?? 0) * 1000;
    }
  };
  const browser = { userId, hash: "ab".repeat(32) };
  await sql`insert into known_browsers (hash, user_id, since, created, expiration_date)
    select decode(${browser.hash}, 'hex'), user_id, changed, changed, changed + interval '90 days'
    from passwords where user_id = ${userId}`;
  let [checked, inARow, rounds] = [0, 0, 0];
  while (now - began < days * 24 * hourMs) {
    const waits = await waitAfter(`Blue-Kettle-${calls}x`);
    if (waits === undefined) expect.unreachable();
    if (waits === 0) {
      checked++;
      expect(++inARow).toBeLessThanOrEqual(triesOfPassword);
      continue;
    }
    expect(waits).toBeLessThanOrEqual(hourMs);
    // Not even the right password gets anybody in elsewhere; in a browser that is known it does, after a mistake too.
    expect(await waitAfter(password)).toBeGreaterThan(0);
    if (rounds % 2 === 0) expect(await waitAfter("Red-Saucer-11", [browser.hash])).toBe(0);
    expect(await waitAfter(password, [browser.hash])).toBeUndefined();
    rounds++;
    inARow = 0;
    now += waits;
  }
  return { rounds, checked };
}
