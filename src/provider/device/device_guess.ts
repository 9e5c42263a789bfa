import { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import { type Call, type Deps, keys } from "../../deps.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { userCodeMacs } from "../../security/user_code.ts";
import type { ProviderSettings } from "../http/settings.ts";
import { attemptKey, minuteOf, secondsUntilNext } from "./device_attempts.ts";

/** The outcome of a code entered by a user: the waiting device, nothing, or a wait before the next attempt. */
export type GuessOutcome = { readonly deviceId: string } | { readonly waitSeconds: number } | undefined;

const unlimited = 2 ** 31 - 1;

/**
 * Makes the lookup of codes entered by users. Each is counted as wrong before it is looked up, by network and overall, across all nodes;
 * correct ones are taken back.
 */
export function deviceGuesses({ sql, clock, secrets: { keyring }, noteAttempt }: Deps, settings: ProviderSettings) {
  return async (typed: string, call: Call): Promise<GuessOutcome> => {
    const [now, network] = [clock(), call.values.get(keys.network)];
    const attempts: Attempts = {
      now,
      mine: attemptKey(keyring, "guesses", network ?? "unknown"),
      all: attemptKey(keyring, "guesses", undefined),
      most: network === undefined ? unlimited : settings.deviceGuessesPerAddressPerMinute,
      mostOfAll: settings.deviceGuessesPerMinute,
    };
    const { isCounted, deviceId } = await guessed(sql, attempts, userCodeMacs(keyring, typed));
    if (!isCounted) return { waitSeconds: secondsUntilNext(now) };
    if (deviceId === null) {
      noteAttempt({ case: "codeRefused", value: { purpose: CodePurpose.DEVICE } }, undefined, call);
      return undefined;
    }
    await takenBack(sql, attempts);
    return { deviceId };
  };
}

type Attempts = {
  readonly now: Date;
  readonly mine: Buffer;
  readonly all: Buffer;
  readonly most: number;
  readonly mostOfAll: number;
};

type Guessed = { readonly isCounted: boolean; readonly deviceId: string | null };

/** Counts an attempt and looks up its code. An attempt beyond the network's limit does not count towards the overall one. */
async function guessed(sql: Sql, attempts: Attempts, macs: readonly Buffer[]): Promise<Guessed> {
  const { now, mine, all, most, mostOfAll } = attempts;
  const [found] = await sql<Guessed[]>`
    with mine as (
      insert into device_attempts as a (key, minute, attempts) values (${mine}, ${minuteOf(now)}, 1)
      on conflict (key, minute) do update set attempts = a.attempts + 1 where a.attempts < ${most}
      returning minute
    ),
    counted as (
      insert into device_attempts as a (key, minute, attempts) select ${all}, minute, 1 from mine
      on conflict (key, minute) do update set attempts = a.attempts + 1 where a.attempts < ${mostOfAll}
      returning minute
    )
    select exists (select from counted) as "isCounted", (
      select d.device_id from device_codes d
      where d.user_code_mac in (select decode(m, 'hex') from unnest(string_to_array(${macs.map(hex).join()}, ',')) m)
        and d.expiration_date > ${now} and exists (select from counted)) as "deviceId"`;
  return found ?? { isCounted: false, deviceId: null };
}

const hex = (bytes: Buffer): string => bytes.toString("hex");

const takenBack = (sql: Sql, { now, mine, all }: Attempts) => sql`
  update device_attempts set attempts = attempts - 1 where minute = ${minuteOf(now)} and key in (${mine}, ${all})`;
