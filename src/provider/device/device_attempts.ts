import type { Sql } from "../../postgres/pool/connect.ts";
import type { Keyring } from "../../security/seal.ts";
import { later } from "../http/settings.ts";

const minuteMs = 60_000;

/** The minute in which attempts are counted, across all nodes. */
export const minuteOf = (now: Date): Date => new Date(Math.floor(now.getTime() / minuteMs) * minuteMs);

export const secondsUntilNext = (now: Date): number =>
  Math.ceil((later(minuteOf(now), 60).getTime() - now.getTime()) / 1000);

export type AttemptKind = "codes" | "guesses" | "pushed requests";

/** The key that attempts are counted under, for one network or for all. Readers of the table cannot tell the address. */
export const attemptKey = (keyring: Keyring, kind: AttemptKind, network: string | undefined): Buffer =>
  keyring.mac("attempts of devices", JSON.stringify([kind, network ?? null]));

export const deleteAttempts = (sql: Sql, before: Date, most: number) => sql`
  delete from device_attempts where (key, minute) in (
    select key, minute from device_attempts where minute < ${minuteOf(before)} limit ${most} for update skip locked)`;
