import type { ServiceImpl } from "@connectrpc/connect";
import type { UserService } from "../../../gen/postern/v1/user_pb.ts";
import { callerOf, type Deps, organizationOf } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { detailsAfter, factOf, next } from "../../events/fact.ts";
import { type NoticeSettings, notices } from "../verification/notice.ts";
import { newPasswordHash } from "./new_password.ts";
import { passwordSecret, passwordUserRead } from "./password.ts";

/** Sets the password of any user, for administrators. */
export const passwordSetting = (deps: Deps, settings: NoticeSettings) => {
  const { log, sql, clock, secrets } = deps;
  const passwordUser = passwordUserRead(sql);
  const notice = notices(deps, settings);

  return {
    async setPassword({ userId, newPassword }, call) {
      const row = await passwordUser({ owner: organizationOf(call), id: userId }, call.signal);
      if (!row) throw refuse.notFound("user", userId);
      if (row.kind !== "human") throw refuse.because("USER_NOT_HUMAN", { params: { id: userId } });
      const hash = await newPasswordHash(secrets, { user: row, password: newPassword, call });
      const at = next(row, clock());
      const { userId: callerId, tokenId } = callerOf(call);
      const keepTokenId = callerId === userId ? tokenId : undefined;
      const fact = { case: "passwordChanged", value: { byAdministrator: true, keepTokenId } } as const;
      const secret = { ...passwordSecret(hash, row.policy), ...notice("password_changed", call) };
      return log.append(call, [factOf("user", at, fact, secret)], { details: detailsAfter(at) });
    },
  } satisfies Pick<ServiceImpl<typeof UserService>, "setPassword">;
};
