import type { ServiceImpl } from "@connectrpc/connect";
import { CodePurpose } from "../../../gen/postern/v1/attempt_pb.ts";
import {
  type ChangePhoneRequest,
  ChangePhoneRequestSchema,
  ResendPhoneCodeRequestSchema,
  type UserService,
} from "../../../gen/postern/v1/user_pb.ts";
import { type Call, type Deps, organizationOf } from "../../deps.ts";
import { refuse, type Violation } from "../../errors.ts";
import { details, detailsAfter, factOf, next } from "../../events/fact.ts";
import type { NounFolds } from "../../events/fold.ts";
import { loadOne } from "../../events/load.ts";
import type { Sql } from "../../postgres/pool/connect.ts";
import { messageRule } from "../../rules.ts";
import { phoneCodeMatches } from "../../security/phone_code.ts";
import { endingOutgrownCodes } from "../members/ended_by_role.ts";
import {
  dropPhoneCode,
  keepPhoneCode,
  type NewCode,
  type PhoneSettings,
  phoneCodes,
  refuseTooMany,
  reserveAttempt,
  type Sends,
  sendsColumns,
} from "../verification/phone_code.ts";
import { phoneNumber, phoneNumberOf, wrongForSms } from "../verification/phone_number.ts";
import {
  exclusive,
  refuseChange,
  type VerifiableUser,
  verifiableColumns,
  withoutCreation,
  wrongCodes,
} from "../verification/verification.ts";
import { touchUser } from "../writing/touch_user.ts";

export const userPhone = (deps: Deps, settings: PhoneSettings) => {
  const { log, sql, clock, secrets } = deps;
  const userToChange = phoneRead(sql, settings);
  const codeFor = codeMaker(deps, settings);
  const refuseWrong = wrongCodes(deps);
  const outgrownEnd = endingOutgrownCodes(deps);

  return {
    async changePhone(request, call) {
      const { isVerified = false } = request;
      const phone = phoneNumberOf(request.phone, settings.phoneDefaultRegion);
      const user = await userOf(request.userId, call, phone);
      refuseChange(user, { isSame: user.phone === phone, modes: request, reason: "PHONE_UNCHANGED" });
      const code = isVerified ? undefined : codeFor(user, phone, request.returnCode !== undefined);
      const at = next(user, clock());
      const value = { phone, verified: isVerified, ...code?.named };
      const changed = factOf("user", at, { case: "phoneChanged", value }, code?.secret);
      const appended = log.append(call, [changed], { details: withoutCreation(at), ...code?.answered });
      return code ? appended.then(outgrownEnd(user.id, call)) : appended;
    },

    async verifyPhone({ userId, verificationCode }, call) {
      const user = await userOf(userId, call);
      refuseUnverifiable(user);
      const tried = await reserveAttempt(sql, userId, clock());
      const isRight = tried && phoneCodeMatches(secrets.keyring, { ...tried, userId }, verificationCode);
      refuseWrong(user, { isRight, purpose: CodePurpose.PHONE, call });
      const at = next(user, clock());
      const verified = factOf("user", at, { case: "phoneVerified", value: {} });
      return log.append(call, [verified], { details: detailsAfter(at) });
    },

    async resendPhoneCode(request, call) {
      const user = await userOf(request.userId, call);
      refuseUnverifiable(user);
      if (!request.returnCode) refusePremiumRate(user);
      const { named, secret, answered } = codeFor(user, user.phone ?? "", request.returnCode !== undefined);
      const at = next(user, clock());
      const requested = factOf("user", at, { case: "phoneCodeRequested", value: named }, secret);
      return log.append(call, [requested], { details: detailsAfter(at), ...answered }).then(outgrownEnd(user.id, call));
    },

    async removePhone({ userId }, call) {
      const user = await userOf(userId, call);
      if (user.phone === null) return log.append(call, [], { details: details(user) });
      const at = next(user, clock());
      const removed = factOf("user", at, { case: "phoneRemoved", value: {} });
      return log.append(call, [removed], { details: detailsAfter(at) });
    },
  } satisfies Partial<ServiceImpl<typeof UserService>>;

  async function userOf(id: string, call: Call, phone: string | null = null): Promise<UserWithPhone> {
    const user = await userToChange({ owner: organizationOf(call), id, phone }, call.signal);
    if (!user) throw refuse.notFound("user", id);
    return user;
  }
};

/** The folds of facts about a user's phone: they write its row and its code. */
export const phoneFolds = {
  phoneChanged: {
    views: [touchUser(`phone = f.payload->>'phone', phone_verified = (f.payload->>'verified')::boolean`)],
    credentials: [
      ...keepPhoneCode,
      `delete from phone_codes c using $input i where c.user_id = i.stream and i.secret->'phoneCode' is null`,
    ],
  },
  phoneCodeRequested: { views: [touchUser()], credentials: keepPhoneCode },
  phoneVerified: { views: [touchUser("phone_verified = true")], credentials: dropPhoneCode },
  phoneRemoved: { views: [touchUser("phone = null, phone_verified = false")], credentials: dropPhoneCode },
} satisfies Pick<NounFolds<"user">, "phoneChanged" | "phoneCodeRequested" | "phoneVerified" | "phoneRemoved">;

type UserWithPhone = VerifiableUser & Sends & { readonly phone: string | null };

/** Reads a user's phone, its code, and how much of the sending limits is used: for a new number, or else the user's. */
const phoneRead = (sql: Sql, settings: PhoneSettings) =>
  loadOne<{ owner: string; id: string; phone: string | null }, UserWithPhone>(sql, {
    asked: "owner text, id text, phone text",
    select: `select n, ${verifiableColumns}, u.phone_verified as verified, u.phone,
      ${sendsColumns("u.user_id", "coalesce(asked.phone, u.phone)", settings)}
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id
      left join phone_codes c on c.user_id = u.user_id`,
  });

/** Makes a code for the user's number: the id in its fact, its secret, and its part of the response. */
function codeMaker(deps: Deps, settings: PhoneSettings) {
  const make = phoneCodes(deps);
  return (user: UserWithPhone, phone: string, returned: boolean) => {
    if (returned) return answeredCode(make({ userId: user.id, phone }));
    if (!user.active) throw refuse.because("USER_INACTIVE");
    refuseTooMany(user, settings, deps.clock());
    return sentCode(make({ userId: user.id, phone, nth: user.nth }));
  };
}

const answeredCode = ({ code, secret }: NewCode) => ({ named: {}, secret, answered: { verificationCode: code } });

const sentCode = ({ id, secret }: NewCode) => ({ named: { phoneCodeId: id }, secret, answered: {} });

export const phoneRules = ({ phoneDefaultRegion: region }: PhoneSettings) => [
  messageRule(ChangePhoneRequestSchema, (request) => wrongIn(request, region)),
  messageRule(ResendPhoneCodeRequestSchema, exclusive),
];

function wrongIn(request: ChangePhoneRequest, region: string | undefined): Violation[] {
  const number = phoneNumber(request.phone, region);
  const isSent = request.returnCode === undefined && request.isVerified !== true;
  return [...(isSent || !number ? wrongForSms(number) : []), ...exclusive(request)];
}

function refuseUnverifiable({ phone, verified }: UserWithPhone): void {
  if (phone === null) throw refuse.because("PHONE_MISSING");
  if (verified) throw refuse.because("PHONE_VERIFIED");
}

/** Refuses to send an SMS to a premium-rate number, which can still be set as verified or with a returned code. */
function refusePremiumRate({ phone }: UserWithPhone): void {
  if (!phoneNumber(phone ?? "", undefined)?.isPremiumRate) return;
  throw refuse.invalid([{ field: "sendCode", text: "PHONE_PREMIUM_RATE_CODE", reason: "PHONE_PREMIUM_RATE" }]);
}
