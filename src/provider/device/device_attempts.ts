import type { Sql } from "../../postgres/pool/connect.ts";
import type { Keyring } from "../../security/seal.ts";
import { later } from "../http/settings.ts";

const minuteMs = 60_000;

/** The minute in which attempts are counted together, on all nodes. */
export const minuteOf = (now: Date): Date => new Date(Math.floor(now.getTime() / minuteMs) * minuteMs);

/** The seconds until the next minute of attempts begins. */
export const secondsUntilNext = (now: Date): number =>
  Math.ceil((later(minuteOf(now), 60).getTime() - now.getTime()) / 1000);

/** The kinds of attempts that are counted. */
export type AttemptKind = "codes" | "guesses";

/** The key of attempts: those of a network, or of all. It shows no address to those who read the table. */
export const attemptKey = (keyring: Keyring, kind: AttemptKind, network: string | undefined): Buffer =>
  keyring.mac("attempts of devices", JSON.stringify([kind, network ?? null]));

/** Deletes the counts of minutes that are over. */
export const deleteAttempts = (sql: Sql, before: Date, most: number) => sql`
  delete from device_attempts where (key, minute) in (
    select key, minute from device_attempts where minute < ${minuteOf(before)} limit ${most} for update skip locked)`;
