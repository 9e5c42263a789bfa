import type { UserJson } from "../../gen/postern/v1/user_pb.ts";
import type { EndedUserRolesJson } from "../../gen/postern/v1/user_role_pb.ts";
import { call } from "../calls/client.ts";
import type { Listing } from "../calls/use_list.ts";
import { Ask } from "../parts/ask.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Card } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../sign_in/me.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { oneUserTexts } from "../texts/user.ts";

type EndedRolesProps = {
  readonly user: UserJson;
  readonly ended: Listing<EndedUserRolesJson>;
  readonly onChanged: () => Promise<void>;
};

/** The organizations that cannot give the user roles, because their roles were ended or declined. */
export function EndedRoles({ user, ended, onChanged }: EndedRolesProps) {
  const organizationId = user.details?.resourceOwner;
  const mayAllow = may("UserRoleService/AllowUserRoles", { organizationId });
  const allow =
    ({ organizationId: by = "", kind }: EndedUserRolesJson) =>
    async ({ key }: Submission) => {
      const request = { userId: user.id ?? "", organizationId: by, ...(kind ? { kind } : {}) };
      await call("UserRoleService/AllowUserRoles", request, { key, organizationId });
      await onChanged();
    };
  return (
    <Card class="flush" title={t(oneUserTexts.barred)} about={t(oneUserTexts.barredAbout)}>
      <List
        of={ended}
        label={t(oneUserTexts.barred)}
        keyOf={({ organizationId: id, kind }) => `${id} ${kind}`}
        columns={[
          {
            title: t(oneUserTexts.organization),
            cell: ({ organizationName, kind }) => (
              <div class="who">
                <div>
                  <b>{organizationName}</b>
                  <small>{t(kind === "ROLE_KIND_USER_GRANT" ? oneUserTexts.userGrant : oneUserTexts.membership)}</small>
                </div>
              </div>
            ),
          },
          {
            title: t(oneUserTexts.barredSince),
            cell: ({ endDate, byAdministrator }) => (
              <>
                {endDate && <Time at={endDate} />}{" "}
                <span class="quiet">{t(byAdministrator ? oneUserTexts.byAdministrator : oneUserTexts.byTheUser)}</span>
              </>
            ),
            isMinor: true,
          },
          {
            title: t(partTexts.acts),
            cell: (one) =>
              mayAllow && (
                <Ask
                  text={t(oneUserTexts.allowAgain)}
                  about={t(oneUserTexts.allowAgainAbout, { name: one.organizationName ?? "" })}
                  act={allow(one)}
                />
              ),
            isActs: true,
          },
        ]}
        empty={null}
      />
    </Card>
  );
}
