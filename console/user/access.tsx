import type { UserJson } from "../../gen/postern/v1/user_pb.ts";
import type { UserRolesJson } from "../../gen/postern/v1/user_role_pb.ts";
import { call } from "../calls/client.ts";
import { useList } from "../calls/use_list.ts";
import { Grants } from "../objects/grants.tsx";
import { Received } from "../objects/received.tsx";
import { Roles } from "../objects/roles.tsx";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Named } from "../parts/names.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../sign_in/me.ts";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { oneUserTexts } from "../texts/user.ts";
import { EndedRoles } from "./ended_roles.tsx";

type AccessProps = { readonly user: UserJson };

/** The user's access: the grants of this organization, all roles from any organization, and the roles that are offered or barred. */
export function Access({ user }: AccessProps) {
  const { id: userId = "", details } = user;
  const organizationId = details?.resourceOwner ?? "";
  const maySee = may("UserRoleService/ListUserRoles", { organizationId });
  const roles = useList("UserRoleService/ListUserRoles", maySee ? { userId } : undefined, {
    rowsOf: ({ userRoles }) => userRoles,
  });
  const ended = useList("UserRoleService/ListEndedUserRoles", maySee ? { userId } : undefined, {
    rowsOf: ({ endedRoles }) => endedRoles,
  });
  const onChanged = async () => {
    await Promise.all([roles.reload(), ended.reload()]);
  };
  const end =
    ({ organizationId: by = "", kind }: UserRolesJson) =>
    async ({ key }: Submission) => {
      const request = { userId, organizationId: by, ...(kind ? { kind } : {}) };
      await call("UserRoleService/EndUserRoles", request, { key, organizationId });
      await onChanged();
    };
  const mayEnd = may("UserRoleService/EndUserRoles", { organizationId });
  const actsOn = (one: UserRolesJson) =>
    mayEnd &&
    one.organizationId &&
    one.organizationId !== organizationId && (
      <Ask
        text={t(oneUserTexts.endRoles)}
        kind="danger"
        about={t(oneUserTexts.endRolesAbout, { name: one.organizationName ?? one.organizationId })}
        act={end(one)}
      />
    );
  return (
    <div class="cards">
      {may("UserGrantService/ListUserGrants") && <Grants userId={userId} />}
      {maySee && (
        <Card class="flush" title={t(oneUserTexts.everywhere)} about={t(oneUserTexts.everywhereAbout)}>
          <List
            of={roles}
            label={t(oneUserTexts.everywhere)}
            keyOf={({ id = "" }) => id}
            columns={[
              { title: t(objectTexts.roles), cell: ({ roles: keys = [] }) => <Roles keys={keys} /> },
              { title: t(oneUserTexts.where), cell: (one) => <Where of={one} /> },
              {
                title: t(oneUserTexts.by),
                cell: ({ organizationName, organizationId: id }) => organizationName ?? id ?? "–",
                isMinor: true,
              },
              { title: t(objectTexts.effect), cell: (one) => <Effect of={one} />, isMinor: true },
              { title: t(partTexts.acts), cell: actsOn, isActs: true },
            ]}
            empty={<Empty>{t(oneUserTexts.noRoles)}</Empty>}
          />
        </Card>
      )}
      {may("InvitationService/ListReceivedInvitations", { organizationId }) && (
        <Received organizationId={organizationId} userId={userId} onAnswered={onChanged} />
      )}
      {ended.rows.length > 0 && <EndedRoles user={user} ended={ended} onChanged={onChanged} />}
    </div>
  );
}

function Where({ of: { kind, projectId, organizationId, organizationName } }: { readonly of: UserRolesJson }) {
  const isGrant = kind === "ROLE_KIND_USER_GRANT";
  return (
    <div>
      {projectId && <Named id={projectId} kind="project" />}
      {!projectId && organizationId && <span>{organizationName ?? organizationId}</span>}
      {!projectId && !organizationId && <span>{t(oneUserTexts.theInstance)}</span>}
      <small class="quiet"> {t(isGrant ? oneUserTexts.userGrant : oneUserTexts.membership)}</small>
    </div>
  );
}

function Effect({ of: { inEffect, expirationDate } }: { readonly of: UserRolesJson }) {
  return (
    <div class="badges">
      <Badge tone={inEffect ? "good" : "off"}>{t(inEffect ? objectTexts.inEffect : objectTexts.withoutEffect)}</Badge>
      {expirationDate && (
        <span class="quiet">
          {new Date(expirationDate) > new Date() && t(objectTexts.until)} <Time at={expirationDate} />
        </span>
      )}
    </div>
  );
}
