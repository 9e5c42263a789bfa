import type { ServiceImpl } from "@connectrpc/connect";
import { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import type { ConfirmTotpRequest, FactorService } from "../../../gen/postern/v1/factor_pb.ts";
import type { Call, Deps } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf } from "../../events/fact.ts";
import { type PublicSettings, relyingParty } from "../../security/passkey.ts";
import { base32Of, newTotpSecret, stepOfCode, totpUri } from "../../security/totp.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import {
  type EnrollingUser,
  enrollingUser,
  refuseEnrolment,
  refuseWithoutFactor,
  unrestricted,
} from "./enrolling_user.ts";
import { enrolments } from "./enrolment.ts";

/** The enrolment of authenticator apps. */
export const totpEnrolment = (deps: Deps, settings: PublicSettings & NoticeSettings) => {
  const { log, clock, noteAttempt } = deps;
  const caller = enrollingUser(deps);
  const enrolment = enrolments(deps, "totp");
  const notice = notices(deps, settings);
  const issuer = relyingParty(settings).id;

  return {
    async startTotp(_request: unknown, call: Call) {
      const user = await caller(call);
      refuseTotp(user);
      const secret = newTotpSecret();
      const { started, expirationDate } = enrolment.start(user, secret);
      const uri = totpUri(secret, { issuer, name: user.username });
      return log.append(call, [started], { secret: base32Of(secret), uri, expirationDate });
    },

    async confirmTotp({ code, name }: Pick<ConfirmTotpRequest, "code" | "name">, call: Call) {
      const user = await caller(call);
      refuseTotp(user);
      refuseWithoutFactor(user);
      const found = await enrolment.find(user, call.signal);
      const step = stepOfCode(found.secret, code, { now: clock(), last: -1 });
      if (step === undefined) {
        noteAttempt({ case: "codeRefused", value: { purpose: CodePurpose.ENROLMENT } }, user, call);
        throw wrongCode("code");
      }
      const at = enrolment.end(user, found);
      const secret = { sealed: Buffer.from(found.sealed).toString("hex"), step, ...notice("factor_added", call) };
      const added = factOf("factor", at, { case: "totpAdded", value: { userId: user.id, name } }, secret);
      const facts = [added, ...unrestricted(user, ["otp", "mfa"], clock())];
      return log.append(call, facts, { factorId: at.stream, details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof FactorService>>;
};

/** Makes the prompt for a code during an enrolment: its secret, to show again. */
export const totpQuestion = (deps: Deps, settings: PublicSettings) => {
  const caller = enrollingUser(deps);
  const enrolment = enrolments(deps, "totp");
  const issuer = relyingParty(settings).id;
  return async (call: Call) => {
    const user = await caller(call);
    const { secret } = await enrolment.find(user, call.signal);
    return { secret: base32Of(secret), uri: totpUri(secret, { issuer, name: user.username }) };
  };
};

function refuseTotp(user: EnrollingUser): void {
  refuseEnrolment(user);
  if (user.factors.some(({ kind }) => kind === "totp")) throw refuse.because("FACTOR_EXISTS");
}

/** Makes the error for a code that is wrong, already used, or from another time. */
export function wrongCode(field: string) {
  const reason = "CODE_INVALID";
  return refuse.because(reason, { violations: [{ field, text: "FACTOR_CODE_INVALID", reason }] });
}
