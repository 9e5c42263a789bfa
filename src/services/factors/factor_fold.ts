import { type NounFolds, touch } from "../../events/fold.ts";
import { sendNotice } from "../verification/notice.ts";

const insertFactor = (kind: string, columns: { name?: string; isSynced?: string } = {}) => `
  insert into factors (owner, factor_id, user_id, kind, name, is_synced, version, created, changed)
  select f.owner, f.stream, f.payload->>'userId', '${kind}', ${columns.name ?? "''"}, ${columns.isSynced ?? "false"},
    f.version, f.time, f.time from $facts f`;

const name = "f.payload->>'name'";

const insertSecret = `
  insert into factor_secrets (factor_id, user_id, sealed, last_step)
  select i.stream, i.payload->>'userId', decode(i.secret->>'sealed', 'hex'), (i.secret->>'step')::bigint from $input i
  on conflict (factor_id) do update set sealed = excluded.sealed`;

const endEnrolment = (kind: string) => `
  delete from factor_enrolments e using $input i where e.user_id = i.payload->>'userId' and e.kind = '${kind}'`;

const gone = (table: string) => `delete from ${table} t using $facts f where t.factor_id = f.stream`;

const tell = sendNotice("i.payload->>'userId'");

/** The folds of facts about a factor: they write its row and its credentials. */
export const factorFolds = {
  enrolmentStarted: {
    credentials: [
      `insert into factor_enrolments (user_id, kind, session_id, factor_id, sealed, expiration_date)
       select i.payload->>'userId', i.secret->>'kind', i.secret->>'sessionId', i.stream,
         decode(i.secret->>'sealed', 'hex'), (i.secret->>'until')::timestamptz from $input i
       on conflict (user_id, kind) do update set session_id = excluded.session_id, factor_id = excluded.factor_id,
         sealed = excluded.sealed, expiration_date = excluded.expiration_date`,
    ],
  },
  totpAdded: { views: [insertFactor("totp", { name })], credentials: [insertSecret, endEnrolment("totp"), ...tell] },
  passkeyAdded: {
    views: [insertFactor("passkey", { name, isSynced: "(f.payload->>'isSynced')::boolean" })],
    credentials: [
      `insert into passkeys (factor_id, user_id, credential_id, public_key, user_handle, counter, transports, host)
       select i.stream, i.payload->>'userId', decode(i.secret->>'id', 'hex'), decode(i.secret->>'publicKey', 'hex'),
         decode(i.secret->>'handle', 'hex'), (i.secret->>'counter')::bigint,
         array(select jsonb_array_elements_text(i.secret->'transports')), i.secret->>'host' from $input i`,
      endEnrolment("passkey"),
      ...tell,
    ],
  },
  recoveryCodesGenerated: {
    views: [
      `${insertFactor("recovery_codes")}
       on conflict (factor_id) do update set version = excluded.version, changed = excluded.changed`,
    ],
    credentials: [
      insertSecret,
      `delete from recovery_codes r using $input i where r.factor_id = i.stream`,
      `insert into recovery_codes (factor_id, mac, user_id)
       select i.stream, decode(m.mac, 'hex'), i.payload->>'userId'
       from $input i cross join lateral jsonb_array_elements_text(i.secret->'macs') as m (mac)`,
      ...tell,
    ],
  },
  renamed: { views: [touch("factors", "factor_id", "name = f.payload->>'name'")] },
  // The token of a sign-in is written once, so concurrent uses have one winner.
  used: {
    views: [touch("factors", "factor_id", "last_used = f.time")],
    credentials: [
      `insert into spent_challenges (challenge, expiration_date)
       select decode(i.secret->>'challenge', 'hex'), (i.secret->>'until')::timestamptz from $input i`,
      `delete from pending_sessions p using $input i where p.challenge = decode(i.secret->>'challenge', 'hex')`,
      `update factor_secrets s set last_step = (i.secret->>'step')::bigint from $input i
       where s.factor_id = i.stream and i.secret->>'step' is not null`,
      `delete from recovery_codes r using $input i
       where r.factor_id = i.stream and r.mac = decode(i.secret->>'recoveryCode', 'hex')`,
      `update passkeys p set counter = (i.secret->>'counter')::bigint from $input i
       where p.factor_id = i.stream and i.secret->>'counter' is not null`,
      `delete from factor_attempts a using $input i
       where a.user_id = i.payload->>'userId' and i.secret->>'counter' is null`,
    ],
  },
  refused: { views: [touch("factors", "factor_id")] },
  removed: {
    views: [gone("factors")],
    credentials: [gone("factor_secrets"), gone("recovery_codes"), gone("passkeys"), ...tell],
  },
} satisfies NounFolds<"factor">;

const goneWithUser = (table: string) => `delete from ${table} t using $facts f where t.user_id = f.stream`;

/** Credentials of a fact after which the user has no factor. */
export const dropFactorCredentials: readonly string[] = [
  ...["factor_secrets", "recovery_codes", "passkeys", "factor_enrolments", "pending_sessions", "factor_attempts"].map(
    goneWithUser,
  ),
];
