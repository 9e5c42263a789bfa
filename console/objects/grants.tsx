import { useLocation } from "preact-iso";
import type { UserGrantJson } from "../../gen/postern/v1/user_grant_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { useList } from "../calls/use_list.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge, StateBadge } from "../parts/badge.tsx";
import { EditDialog } from "../parts/edit_dialog.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Menu } from "../parts/menu.tsx";
import { Named, Who } from "../parts/names.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import type { Save } from "../parts/version_form.tsx";
import { may } from "../sign_in/me.ts";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { AddGrant } from "./add_grant.tsx";
import { keysOf, Roles, rolesAt, rolesField } from "./roles.tsx";
import { StateSwitch } from "./state_switch.tsx";

type GrantsProps =
  | { readonly userId: string; readonly projectId?: undefined }
  | { readonly projectId: string; readonly userId?: undefined };

/** The grants of a user, or those in a project. */
export function Grants({ userId, projectId }: GrantsProps) {
  const about = userId ? { userId } : { projectId: projectId ?? "" };
  const grants = useList("UserGrantService/ListUserGrants", about, { rowsOf: ({ userGrants }) => userGrants });
  const { query } = useLocation();
  const add = may("UserGrantService/AddUserGrant", projectId ? { projectId } : {}) && (
    <AddGrant {...about} onAdded={grants.reload} isOpen={query.add === "grant"} />
  );
  const first = userId
    ? {
        title: t(objectTexts.project),
        cell: (grant: UserGrantJson) => <Named id={grant.projectId ?? ""} kind="project" />,
      }
    : { title: t(objectTexts.user), cell: (grant: UserGrantJson) => <Who id={grant.userId ?? ""} /> };
  return (
    <Card
      class="flush"
      title={t(objectTexts.grants)}
      about={t(userId ? objectTexts.grantsOfUser : objectTexts.grantsInProject)}
      actions={add}
    >
      <List
        of={grants}
        label={t(objectTexts.grants)}
        keyOf={({ id = "" }) => id}
        columns={[
          first,
          { title: t(objectTexts.roles), cell: ({ roleKeys = [] }) => <Roles keys={roleKeys} /> },
          { title: t(objectTexts.effect), cell: (grant) => <Effect grant={grant} />, isMinor: true },
          { title: t(partTexts.acts), cell: (grant) => <Acts grant={grant} onDone={grants.reload} />, isActs: true },
        ]}
        empty={<Empty>{t(objectTexts.noGrants)}</Empty>}
      />
    </Card>
  );
}

/** Whether a grant has an effect, and until when. */
function Effect({ grant: { state, projectState, inEffect, expirationDate } }: { readonly grant: UserGrantJson }) {
  const isOver = expirationDate !== undefined && new Date(expirationDate) < new Date();
  const why = isOver
    ? objectTexts.ended
    : projectState === "PROJECT_STATE_INACTIVE"
      ? objectTexts.projectInactive
      : objectTexts.withoutEffect;
  return (
    <div class="badges">
      {inEffect && <Badge tone="good">{t(objectTexts.inEffect)}</Badge>}
      {!inEffect && state === "USER_GRANT_STATE_INACTIVE" && <StateBadge state={state} />}
      {!inEffect && state !== "USER_GRANT_STATE_INACTIVE" && <Badge tone="off">{t(why)}</Badge>}
      {expirationDate && (
        <span class="quiet">
          {new Date(expirationDate) > new Date() && t(objectTexts.until)} <Time at={expirationDate} />
        </span>
      )}
    </div>
  );
}

function Acts({ grant, onDone }: { readonly grant: UserGrantJson; readonly onDone: () => Promise<void> }) {
  const scope = { projectId: grant.projectId, projectGrantId: grant.projectGrantId };
  if (!may("UserGrantService/ChangeUserGrant", scope)) return null;
  const userGrantId = grant.id ?? "";
  const options = { organizationId: organizationId.value };
  const read = async () => {
    const { userGrant = {} } = await call("UserGrantService/GetUserGrant", { userGrantId }, options);
    return rolesAt(userGrant);
  };
  const save = ({ draft, expectedSequence, key }: Save) => {
    const request = { userGrantId, roleKeys: keysOf(draft), expectedSequence };
    return call("UserGrantService/ChangeUserGrant", request, { ...options, key });
  };
  const switchTo =
    (method: "DeactivateUserGrant" | "ReactivateUserGrant" | "RemoveUserGrant") =>
    async ({ key }: Submission) => {
      await call(`UserGrantService/${method}`, { userGrantId }, { ...options, key });
      await onDone();
    };
  const isInactive = grant.state === "USER_GRANT_STATE_INACTIVE";
  return (
    <Menu>
      <EditDialog
        title={t(objectTexts.changeRoles)}
        fields={[rolesField(grant.projectId ?? "")]}
        version={rolesAt(grant)}
        read={read}
        save={save}
        onSaved={onDone}
      />
      <StateSwitch
        isInactive={isInactive}
        about={{ deactivate: objectTexts.deactivateGrant, reactivate: objectTexts.reactivateGrant }}
        switchTo={(state) => switchTo(`${state}UserGrant`)}
      />
      <Ask
        text={t(objectTexts.remove)}
        kind="danger"
        about={t(objectTexts.removeGrant)}
        act={switchTo("RemoveUserGrant")}
      />
    </Menu>
  );
}
