import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { FactorKind, type FactorService } from "../../../gen/postern/v1/factor_pb.ts";
import { type Call, callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { details, detailsAfter, factOf, first, next } from "../../events/fact.ts";
import type { PublicSettings } from "../../security/passkey.ts";
import { makeRecoveryCodes } from "../../security/recovery_code.ts";
import { userExistsRead } from "../callers/user_exists.ts";
import { handlers } from "../module.ts";
import type { FactorKindName } from "../policies/factor_kind.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import { enrollingUser, refuseEnrolment } from "./enrolling_user.ts";
import { type FactorRow, factorsRead, isFullFactor, secretContext } from "./factor_read.ts";
import { passkeyEnrolment } from "./passkey_enrolment.ts";
import { totpEnrolment } from "./totp_enrolment.ts";

/** Second factors of users. */
export const factorService = (deps: Deps, settings: PublicSettings & NoticeSettings) => {
  const { log, sql, clock, ids, secrets } = deps;
  const caller = enrollingUser(deps);
  const factorsOf = factorsRead(sql);
  const userExists = userExistsRead(sql);
  const notice = notices(deps, settings);

  return handlers(totpEnrolment(deps, settings), passkeyEnrolment(deps, settings), {
    async generateRecoveryCodes(_request: unknown, call: Call) {
      const user = await caller(call);
      refuseEnrolment(user);
      if (!user.factors.some(isFullFactor)) throw refuse.because("FACTOR_MISSING");
      const earlier = user.factors.find(({ kind }) => kind === "recovery_codes");
      const at = earlier ? next(earlier, clock()) : first(user.owner, ids(), clock());
      const { codes, key, macs } = makeRecoveryCodes();
      const sealed = Buffer.from(secrets.keyring.seal(key, secretContext(at.stream))).toString("hex");
      const value = { userId: user.id };
      const secret = { sealed, macs: [...macs], ...notice("factor_added", call) };
      const made = factOf("factor", at, { case: "recoveryCodesGenerated", value }, secret);
      return log.append(call, [made], { factorId: at.stream, codes: [...codes], details: detailsAfter(at) });
    },

    async listFactors({ userId }, call) {
      return { factors: (await factorsAt(userId, call)).map(factor) };
    },

    async renameFactor({ userId, factorId, name }, call) {
      const row = named(await factorsAt(userId, call), factorId);
      if (row.name === name) return log.append(call, [], { details: details(row) });
      const at = next(row, clock());
      const renamed = factOf("factor", at, { case: "renamed", value: { name } });
      return log.append(call, [renamed], { details: detailsAfter(at) });
    },

    async removeFactor({ userId, factorId }, call) {
      const isOwn = userId === callerOf(call).userId;
      const factors = await factorsAt(userId, call);
      const row = named(factors, factorId);
      const now = clock();
      const mail = notice("factor_removed", call);
      const facts = withCodes(factors, row).map((one) =>
        removed(one, { byAdministrator: !isOwn, now, ...(one === row ? mail : {}) }),
      );
      return log.append(call, facts, { details: detailsAfter(next(row, now)) });
    },
  } satisfies Partial<ServiceImpl<typeof FactorService>>);

  async function factorsAt(userId: string, call: Call): Promise<readonly FactorRow[]> {
    const user = { owner: organizationOf(call), id: userId };
    const factors = await factorsOf({ owner: user.owner, user: userId }, call.signal);
    if (factors.length === 0 && !(await userExists(user, call.signal))) throw refuse.notFound("user", userId);
    return factors;
  }
};

function named(factors: readonly FactorRow[], factorId: string): FactorRow {
  const row = factors.find(({ id }) => id === factorId);
  if (!row) throw refuse.notFound("factor", factorId);
  return row;
}

/** The factors removed together with one: recovery codes only stand in for others, so they go with the last of them. */
export function withCodes(factors: readonly FactorRow[], row: FactorRow): readonly FactorRow[] {
  const others = factors.filter(({ id }) => id !== row.id);
  return others.some(isFullFactor) ? [row] : [row, ...others];
}

export function removed(row: FactorRow, { byAdministrator, now, notice }: Removal) {
  const value = { userId: row.userId, byAdministrator };
  return factOf("factor", next(row, now), { case: "removed", value }, notice && { notice });
}

type Removal = { readonly byAdministrator: boolean; readonly now: Date; readonly notice?: JsonObject };

const kinds: Readonly<Record<FactorKindName, FactorKind>> = {
  totp: FactorKind.TOTP,
  passkey: FactorKind.PASSKEY,
  recovery_codes: FactorKind.RECOVERY_CODES,
};

export const factorKindOf = (kind: FactorKindName): FactorKind => kinds[kind];

export const factor = ({ kind, name, isSynced, lastUsed, codesLeft, ...row }: FactorRow) => ({
  id: row.id,
  details: details(row),
  kind: factorKindOf(kind),
  name,
  isSynced,
  codesLeft,
  ...(lastUsed === null ? {} : { lastUsedDate: timestampFromDate(lastUsed) }),
});
