import { randomBytes } from "node:crypto";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { type PublicSettings, relyingParty, requestOptions } from "../../security/passkey.ts";
import { userInForce } from "../callers/in_force.ts";
import { factorKindOf } from "../factors/factor.ts";
import { hasFullFactor } from "../factors/factor_read.ts";
import { passkeysRead } from "../factors/passkey_enrolment.ts";
import { type PasswordUser, passwordColumns, passwordUserRead } from "../passwords/password.ts";
import { mailCodesOf } from "../policies/sign_in_policy.ts";
import type { FirstMethod, UsedCode } from "./new_session.ts";

/** A new hash of the same password at another cost, or the hash of its replacement. */
export type Hashes = { readonly rehashed?: string; readonly replaced?: string };

/** A user who took the first step of a sign-in, which waits for a factor. */
export type PendingUser = PasswordUser & {
  readonly method: FirstMethod;
  readonly challenge: Uint8Array;
  readonly hashes: Hashes;
  readonly pendingUntil: Date;
  /** Whether it began in a known browser. */
  readonly isKnown: boolean;
};

export type PendingSessions = ReturnType<typeof pendingSessions>;

/** A sign-in that waits for a factor, as returned to the caller. */
export type PendingSession = Awaited<ReturnType<PendingSessions["begin"]>>;

export const pendingSeconds = 300;

const purpose = "pending session";

/** Sign-ins that wait for a factor: how to begin one, and how to find it by its token. */
export function pendingSessions({ sql, clock, secrets }: Deps, settings: PublicSettings) {
  const { keyring } = secrets;
  const passkeysOf = passkeysRead(sql);
  const pendingByToken = pendingRead(sql);
  const userById = passwordUserRead(sql);
  const party = relyingParty(settings);

  return {
    begin,
    find,

    /**
     * Begins a sign-in for a user who has already taken the first step in this browser; undefined if there is no factor to ask for.
     */
    async beginAgain({ owner, userId, methods }: SignedIn, call: Signalled) {
      const user = await userById({ owner, id: userId }, call.signal);
      if (!user?.active || !hasFullFactor(user.factorKinds)) return undefined;
      return begin({ user, hashes: {}, method: methods.includes("pwd") ? "pwd" : "otp", isKnown: true }, call);
    },

    /** Reads the question of a sign-in, to ask it again. */
    async again(token: string, call: Signalled) {
      const user = await find(token, call);
      return questionOf(user, { token, challenge: user.challenge, end: user.pendingUntil }, call);
    },
  };

  async function begin(step: BegunSignIn, call: Signalled) {
    const { user } = step;
    const token = randomBytes(32).toString("base64url");
    const challenge = randomBytes(32);
    const end = new Date(clock().getTime() + pendingSeconds * 1000);
    const { count } = await keep(sql, { ...step, mac: keyring.mac(purpose, token), challenge, now: clock(), end });
    if (count === 0) throw challengeOver("challengeToken");
    return questionOf(user, { token, challenge, end }, call);
  }

  async function questionOf(
    { id, factorKinds }: PasswordUser,
    { token, challenge, end }: Question,
    { signal }: Signalled,
  ) {
    const passkeys = factorKinds.includes("passkey") ? await passkeysOf({ user: id }, signal) : [];
    const options = passkeys.length > 0 ? { passkeyOptions: requestOptions({ challenge, party }, passkeys) } : {};
    return { token, expirationDate: timestampFromDate(end), factors: factorKinds.map(factorKindOf), ...options };
  }

  async function find(token: string, { signal }: Signalled): Promise<PendingUser> {
    const macs = keyring.macs(purpose, token).map((mac) => mac.toString("hex"));
    const user = await pendingByToken({ macs, now: clock().toISOString() }, signal);
    if (!user) throw challengeOver("pendingToken");
    return user;
  }
}

type Signalled = Pick<Call, "signal">;

type Question = { readonly token: string; readonly challenge: Uint8Array; readonly end: Date };

/** Makes the error for a token whose sign-in is over, or never existed. */
export function challengeOver(field: string) {
  const reason = "CHALLENGE_INVALID";
  return refuse.because(reason, { violations: [{ field, text: "CHALLENGE_NOT_IN_FORCE", reason }] });
}

/** A session in a browser: its user, and the methods of its sign-in. */
type SignedIn = Readonly<Record<"owner" | "userId", string>> & { readonly methods: readonly string[] };

/** A first step of a sign-in that is followed by another. */
type BegunSignIn = {
  readonly user: PasswordUser;
  readonly hashes: Hashes;
  readonly method: FirstMethod;
  readonly isKnown: boolean;
  readonly usedCode?: UsedCode | undefined;
};

type ToKeep = BegunSignIn & {
  readonly mac: Uint8Array;
  readonly challenge: Uint8Array;
  readonly now: Date;
  readonly end: Date;
};

// Anybody with the password can begin any number of sign-ins; only this many are kept.
const mostPending = 10;

/** Writes the sign-in and deletes the user's oldest ones; nothing if it began with a code that another sign-in has used up. */
const keep = (sql: Sql, { user, hashes, method, isKnown, usedCode, mac, challenge, now, end }: ToKeep) => sql`
  with gone as (
    delete from pending_sessions where mac in (
      select mac from pending_sessions where user_id = ${user.id} order by created desc offset ${mostPending - 1})
  ),
  code as (
    select id, until from (values (${usedCode?.id ?? null}::text, ${usedCode?.until ?? null}::timestamptz)) as c (id, until)
    where id is not null
  ),
  spent as (
    insert into spent_challenges (challenge, expiration_date) select convert_to(id, 'utf8'), until from code
    on conflict (challenge) do nothing returning 1
  ),
  used as (delete from mail_codes c using code where c.mail_code_id = code.id)
  insert into pending_sessions (mac, user_id, since, challenge, hashes, created, expiration_date, is_known, method)
  select ${Buffer.from(mac)}::bytea, ${user.id}::text, ${user.since}::text, ${Buffer.from(challenge)}::bytea,
    ${JSON.stringify(hashes)}::text::jsonb, ${now}::timestamptz, ${end}::timestamptz, ${isKnown}::boolean, ${method}::text
  where not exists (select from code) or exists (select from spent)`;

// A sign-in that a session in the browser began may continue: the session's own sign-in was complete.
const takesFirstStep = `(s.method <> 'otp' or s.is_known or ${mailCodesOf("u")})`;

/** Finds the user of a pending sign-in, unless the password was changed since, or mailed codes are no longer allowed and one began it. */
const pendingRead = (sql: Sql) =>
  loadOne<{ macs: readonly string[]; now: string }, PendingUser>(sql, {
    asked: "macs text[], now timestamptz",
    select: `select n, ${passwordColumns}, s.challenge, s.hashes, s.expiration_date as "pendingUntil", s.is_known as "isKnown", s.method
             from asked cross join lateral unnest(asked.macs) as m (mac)
             join pending_sessions s on s.mac = decode(m.mac, 'hex') and s.expiration_date > asked.now
             join users u on u.user_id = s.user_id and ${userInForce}
             left join passwords p on p.user_id = u.user_id
             where p.changed::text is not distinct from s.since and ${takesFirstStep} and not exists (select from spent_challenges c where c.challenge = s.challenge)`,
  });
