import { useLocation } from "preact-iso";
import type { UserJson, UserSignInJson } from "../../gen/postern/v1/user_pb.ts";
import { call } from "../calls/client.ts";
import { linkTo } from "../links.ts";
import { StateSwitch } from "../objects/state_switch.tsx";
import { Ask } from "../parts/ask.tsx";
import type { Submission } from "../parts/form.tsx";
import { Card } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toasts.tsx";
import { may } from "../sign_in/me.ts";
import { t } from "../texts/text.ts";
import { oneUserTexts } from "../texts/user.ts";
import { nameOf } from "../users/user_name.ts";

type StateActsProps = {
  readonly user: UserJson;
  readonly signIn: UserSignInJson | undefined;
  readonly onChanged: () => Promise<void>;
};

/** Lets the user in, and keeps the user out. */
export function StateActs({ user, signIn, onChanged }: StateActsProps) {
  const { route } = useLocation();
  const userId = user.id ?? "";
  if (!may("UserService/DeactivateUser", { organizationId: user.details?.resourceOwner })) return null;
  const switchTo =
    (method: "DeactivateUser" | "ReactivateUser" | "UnlockUser") =>
    async ({ key }: Submission) => {
      await call(`UserService/${method}`, { userId }, { key });
      await onChanged();
    };
  const invite = async ({ key }: Submission) => {
    await call("UserService/InviteUser", { userId, sendCode: {} }, { key });
    say(t(oneUserTexts.invited));
    await onChanged();
  };
  const remove = async ({ key }: Submission) => {
    await call("UserService/DeleteUser", { userId }, { key });
    say(t(oneUserTexts.removed));
    route(linkTo(["users"]));
  };
  const isInactive = user.state === "USER_STATE_INACTIVE";
  const hasPassword = signIn?.passwordChangeDate !== undefined;
  return (
    <Card
      title={t(oneUserTexts.state)}
      about={
        user.lockedUntil && (
          <>
            {t(oneUserTexts.lockedUntil)} <Time at={user.lockedUntil} exact />
          </>
        )
      }
    >
      <div class="actions">
        {user.human && !hasPassword && !isInactive && (
          <Ask text={t(oneUserTexts.invite)} about={t(oneUserTexts.inviteAbout)} act={invite} />
        )}
        {user.state === "USER_STATE_LOCKED" && (
          <Ask
            text={t(oneUserTexts.unlock)}
            kind="main"
            about={t(oneUserTexts.unlockAbout)}
            act={switchTo("UnlockUser")}
          />
        )}
        <StateSwitch
          isInactive={isInactive}
          about={{ deactivate: oneUserTexts.deactivateAbout, reactivate: oneUserTexts.reactivateAbout }}
          switchTo={(state) => switchTo(`${state}User`)}
        />
        <Ask
          text={t(oneUserTexts.remove)}
          kind="danger"
          about={t(oneUserTexts.removeAbout, { name: nameOf(user) })}
          act={remove}
        />
      </div>
    </Card>
  );
}
