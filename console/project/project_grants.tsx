import type { ProjectGrantJson } from "../../gen/postern/v1/project_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { useList } from "../calls/use_list.ts";
import { keysOf, Roles, rolesAt, rolesField } from "../objects/roles.tsx";
import { Ask } from "../parts/ask.tsx";
import { EditDialog } from "../parts/edit_dialog.tsx";
import type { Control, Field } from "../parts/field.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Menu } from "../parts/menu.tsx";
import { Named } from "../parts/names.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { type Choice, Picker } from "../parts/picker.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toasts.tsx";
import type { Save } from "../parts/version_form.tsx";
import { isOfTheInstance, may } from "../sign_in/me.ts";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { projectTexts } from "../texts/projects.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";

/** The organizations that may give roles of the project. */
export function ProjectGrants({ projectId }: { readonly projectId: string }) {
  const grants = useList(
    "ProjectService/ListProjectGrants",
    { projectId },
    { rowsOf: ({ projectGrants }) => projectGrants },
  );
  const mayWrite = may("ProjectService/GrantProject", { projectId });
  const add = async ({ draft, key }: Submission) => {
    const request = { projectId, grantedOrganizationId: String(draft.grantedOrganizationId), roleKeys: keysOf(draft) };
    const { invitationId } = await call("ProjectService/GrantProject", request, {
      key,
      organizationId: organizationId.value,
    });
    say(t(invitationId ? objectTexts.invited : projectTexts.projectGranted));
    await grants.reload();
  };
  return (
    <Card
      class="flush"
      title={t(projectTexts.projectGrants)}
      about={t(projectTexts.projectGrantsAbout)}
      actions={
        mayWrite && (
          <Ask
            text={t(projectTexts.grantProject)}
            icon="plus"
            kind="main"
            id="grant-project"
            fields={[organizationField(), rolesField(projectId)]}
            values={{ grantedOrganizationId: "", roleKeys: [] }}
            act={add}
          />
        )
      }
    >
      <List
        of={grants}
        label={t(projectTexts.projectGrants)}
        keyOf={({ id = "" }) => id}
        columns={[
          {
            title: t(projectTexts.organization),
            cell: ({ grantedOrganizationId = "" }) => <Named id={grantedOrganizationId} />,
          },
          { title: t(projectTexts.roles), cell: ({ roleKeys = [] }) => <Roles keys={roleKeys} /> },
          {
            title: t(objectTexts.since),
            cell: ({ details }) => details?.creationDate && <Time at={details.creationDate} />,
            isMinor: true,
          },
          {
            title: t(partTexts.acts),
            cell: (grant) => mayWrite && <Acts grant={grant} onDone={grants.reload} />,
            isActs: true,
          },
        ]}
        empty={<Empty>{t(projectTexts.noProjectGrants)}</Empty>}
      />
    </Card>
  );
}

/** A picker for administrators who see the organizations; all others enter an id. */
function organizationField(): Field {
  const label = t(isOfTheInstance.value ? projectTexts.organization : projectTexts.organizationId);
  return { name: "grantedOrganizationId", label, ...(isOfTheInstance.value ? { control: OrganizationControl } : {}) };
}

async function findOrganizations(text: string, signal: AbortSignal): Promise<readonly Choice[]> {
  const request = { ...(text ? { filter: { search: text } } : {}), pageSize: 20 };
  const { organizations = [] } = await call("OrganizationService/ListOrganizations", request, { signal });
  const others = organizations.filter(({ id }) => id !== organizationId.value);
  return others.map(({ id = "", name = "" }) => ({ id, text: name, more: id }));
}

function OrganizationControl({ id, onChange, describedBy, isInvalid }: Control) {
  const about = { id, describedBy, isInvalid, placeholder: t(shellTexts.findOrganization) };
  return <Picker {...about} find={findOrganizations} onPick={(choice) => onChange(choice.id)} />;
}

function Acts({ grant, onDone }: { readonly grant: ProjectGrantJson; readonly onDone: () => Promise<void> }) {
  const about = { projectId: grant.projectId ?? "", projectGrantId: grant.id ?? "" };
  const options = { organizationId: organizationId.value };
  const read = async () => {
    const filter = { grantedOrganizationId: grant.grantedOrganizationId ?? "" };
    const { projectGrants = [] } = await call(
      "ProjectService/ListProjectGrants",
      { projectId: about.projectId, filter },
      options,
    );
    return rolesAt(projectGrants[0] ?? {});
  };
  const save = ({ draft, expectedSequence, key }: Save) =>
    call(
      "ProjectService/ChangeProjectGrant",
      { ...about, roleKeys: keysOf(draft), expectedSequence },
      { ...options, key },
    );
  const revoke = async ({ key }: Submission) => {
    await call("ProjectService/RevokeProjectGrant", about, { ...options, key });
    await onDone();
  };
  return (
    <Menu>
      <EditDialog
        title={t(objectTexts.changeRoles)}
        fields={[rolesField(about.projectId)]}
        version={rolesAt(grant)}
        read={read}
        save={save}
        onSaved={onDone}
      />
      <Ask text={t(projectTexts.revoke)} kind="danger" about={t(projectTexts.revokeAbout)} act={revoke} />
    </Menu>
  );
}
