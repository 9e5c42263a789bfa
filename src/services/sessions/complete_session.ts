import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type CompleteSessionRequest,
  CompleteSessionRequestSchema,
  type SessionService,
} from "../../../gen/postern/v1/session_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { reasonOf, type Violation } from "../../errors.ts";
import { factOf, type NewFact, next } from "../../events/fact.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import type { PublicSettings } from "../../security/passkey.ts";
import { recoveryCodeMac } from "../../security/recovery_code.ts";
import { stepOfCode } from "../../security/totp.ts";
import { countNetwork } from "../callers/network_rate.ts";
import { countFactorTry } from "../factors/factor_attempts.ts";
import { type FactorRow, factorSecretRead, secretContext } from "../factors/factor_read.ts";
import { FactorRefusal, namesOf, type RecordRefusal, type RefusedFactor } from "../factors/factor_refusal.ts";
import type { PasskeyProof } from "../factors/passkey_proof.ts";
import { wrongCode } from "../factors/totp_enrolment.ts";
import { isLocked } from "../passwords/password.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import {
  callSession,
  confirmedSessions,
  type NewSession,
  newSessions,
  passwordReplaced,
  type SessionKind,
  type SessionLifetime,
} from "./new_session.ts";
import { challengeOver, type PendingUser, pendingSessions } from "./pending_session.ts";
import type { SignInLimits } from "./sign_in_limit.ts";

export type FactorSignInSettings = PublicSettings & SessionLifetime & SignInLimits & NoticeSettings;

/** A factor used in a sign-in, with the secret that its fact stores. */
export type UsedFactor = {
  readonly row: FactorRow;
  readonly secret: Readonly<Record<string, JsonValue>>;
  readonly amr: readonly string[];
};

/** The challenge that was answered, and its expiry. */
export type Answered = { readonly challenge: Uint8Array; readonly until: Date };

const codeAmr = ["otp", "mfa"];

export const completedSessions = (options: SessionLifetime & { readonly complete: SignInCompletion }) =>
  ({
    completeSession: ({ pendingToken, answer }, call) =>
      options.complete({ pendingToken, answer, call }, callSession(options)),
  }) satisfies Partial<ServiceImpl<typeof SessionService>>;

/** A response to a sign-in that waits for a factor. */
export type Completion = Pick<CompleteSessionRequest, "pendingToken" | "answer"> & { readonly call: Call };

/** Completes the second step of a sign-in, or fails. */
export type SignInCompletion = <A>(completion: Completion, kind: SessionKind<A>) => Promise<A>;

type Parts = {
  readonly settings: PublicSettings & SignInLimits & NoticeSettings;
  readonly proof: PasskeyProof;
  readonly record: RecordRefusal;
};

/** Makes the only function that completes a sign-in with a factor, for calls and pages. */
export const signInCompletion = (deps: Deps, { settings, proof, record }: Parts): SignInCompletion => {
  const { log, clock } = deps;
  const pending = pendingSessions(deps, settings);
  const sessionOf = newSessions(deps);
  const confirm = confirmedSessions(deps);
  const notice = notices(deps, settings);
  const used = usedFactors(deps, { proof, record });
  const guesses = deps.failureRate("second factors", settings.signInFailuresPerAddressPerMinute);

  return async ({ pendingToken, answer, call }, kind) => {
    const uncount = countNetwork(guesses, call);
    const user = await pending.find(pendingToken, call);
    const factor = await used(user, answer, call);
    uncount();
    const { hashes, challenge, pendingUntil: until } = user;
    const since = hashes.replaced === undefined ? user.since : null;
    const amr = [...new Set([user.method, ...factor.amr])];
    const made = sessionOf({ ...user, since }, { amr, rehashed: hashes.rehashed }, kind);
    const facts = factsOf(user, call, [usedFact(factor, made, { challenge, until }), made.created]);
    await log.append(call, facts, made.answer);
    if (hashes.replaced === undefined) await confirm(made, { ...user, isComplete: true }, call);
    return made.answer;
  };

  function factsOf(user: PendingUser, call: Call, signIn: readonly NewFact[]): readonly NewFact[] {
    const { hashes, method } = user;
    if (hashes.replaced === undefined) return signIn;
    const told = { now: clock(), notice: notice("password_changed", call), method };
    return [passwordReplaced(user, hashes.replaced, told), ...signIn];
  }
};

/** Makes the search for the factor that a response proves. */
function usedFactors({ sql, clock, secrets }: Deps, { proof, record }: Pick<Parts, "proof" | "record">) {
  const secretOf = factorSecretRead(sql);
  const codeIsLeft = recoveryCodeRead(sql);

  // A lock ends sign-ins that unknown callers began with a password, unless they continue with a passkey.
  return (user: PendingUser, answer: CompleteSessionRequest["answer"], call: Call): Promise<UsedFactor> => {
    if (answer.case !== "passkey" && !user.isKnown && isLocked(user, clock())) throw challengeOver("pendingToken");
    switch (answer.case) {
      case "totpCode":
        return byTotp(user, answer.value, call);
      case "recoveryCode":
        return byRecoveryCode(user, answer.value, call);
      case "passkey":
        return byPasskey(user, answer.value, call);
      case undefined:
        throw new Error("a rule requires an answer");
    }
  };

  async function byTotp(user: PendingUser, code: string, call: Call): Promise<UsedFactor> {
    const until = await countTry(user, call);
    const row = await secretOf({ user: user.id, kind: "totp" }, call.signal);
    if (!row) throw refusedCode({ user, until }, "totpCode", call);
    const secret = secrets.keyring.open(row.sealed, secretContext(row.id));
    const step = stepOfCode(secret, code, { now: clock(), last: Number(row.lastStep ?? -1) });
    if (step === undefined) throw refusedCode({ ...namesOf(row), until }, "totpCode", call);
    return { row, secret: { step }, amr: codeAmr };
  }

  async function byRecoveryCode(user: PendingUser, code: string, call: Call): Promise<UsedFactor> {
    const until = await countTry(user, call);
    const row = await secretOf({ user: user.id, kind: "recovery_codes" }, call.signal);
    if (!row) throw refusedCode({ user, until }, "recoveryCode", call);
    const mac = recoveryCodeMac(secrets.keyring.open(row.sealed, secretContext(row.id)), code);
    if (!(await codeIsLeft({ factor: row.id, mac }, call.signal)))
      throw refusedCode({ ...namesOf(row), until }, "recoveryCode", call);
    return { row, secret: { recoveryCode: mac }, amr: codeAmr };
  }

  async function byPasskey({ id, challenge }: PendingUser, answer: JsonObject, call: Call): Promise<UsedFactor> {
    const { row, secret, amr } = await proof.check(answer, { challenge, userId: id, field: "passkey" }, call);
    return { row, secret, amr };
  }

  async function countTry(user: PendingUser, call: Call): Promise<Date | undefined> {
    return countFactorTry(sql, user.id, clock()).catch((error: unknown) => {
      if (reasonOf(error) === "FACTOR_ATTEMPTS") record({ user, reason: FactorRefusal.WAIT }, call);
      throw error;
    });
  }

  function refusedCode(refused: Omit<RefusedFactor, "reason">, field: string, call: Call) {
    record({ ...refused, reason: FactorRefusal.CODE }, call);
    return wrongCode(field);
  }
}

/** Makes the fact that a sign-in used a factor, which also spends the challenge. */
export function usedFact(
  { row, secret }: UsedFactor,
  { at }: Pick<NewSession<unknown>, "at">,
  { challenge, until }: Answered,
): NewFact {
  const spent = { challenge: Buffer.from(challenge).toString("hex"), until: until.toISOString() };
  const value = { userId: row.userId, sessionId: at.stream };
  return factOf("factor", next(row, at.time), { case: "used", value }, { ...secret, ...spent });
}

const recoveryCodeRead = (sql: Sql) =>
  loadOne<{ factor: string; mac: string }, object>(sql, {
    asked: "factor text, mac text",
    select: `select n from asked
             join recovery_codes r on r.factor_id = asked.factor and r.mac = decode(asked.mac, 'hex')`,
  });

export const completionRules = [messageRule(CompleteSessionRequestSchema, noAnswer)];

function noAnswer({ answer }: CompleteSessionRequest): Violation[] {
  if (answer.case !== undefined) return [];
  return [{ field: "answer", text: "FIELD_REQUIRED", reason: "REQUIRED" }];
}
