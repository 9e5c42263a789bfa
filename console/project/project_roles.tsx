import { useSignal } from "@preact/signals";
import type { ProjectJson, ProjectRoleJson } from "../../gen/postern/v1/project_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { useList } from "../calls/use_list.ts";
import { Ask } from "../parts/ask.tsx";
import { EditDialog } from "../parts/edit_dialog.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Menu } from "../parts/menu.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Search } from "../parts/search.tsx";
import { say } from "../parts/toasts.tsx";
import type { Save } from "../parts/version_form.tsx";
import { may } from "../sign_in/me.ts";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { projectTexts } from "../texts/projects.ts";
import { t } from "../texts/text.ts";

type RolesProps = { readonly project: ProjectJson; readonly onChanged: () => Promise<void> };

/** The roles of a project. They are part of its history, so changing one changes the project. */
export function ProjectRoles({ project, onChanged }: RolesProps) {
  const { id: projectId = "", details } = project;
  const search = useSignal("");
  const filter = search.value ? { filter: { search: search.value } } : {};
  const roles = useList("ProjectService/ListProjectRoles", { projectId, ...filter }, { rowsOf: ({ roles }) => roles });
  const mayWrite = may("ProjectService/AddProjectRole", { projectId });
  const read = async () => {
    await Promise.all([roles.reload(), onChanged()]);
  };
  const add = async ({ draft, key }: Submission) => {
    const request = { projectId, key: String(draft.key), displayName: String(draft.displayName || draft.key) };
    await call("ProjectService/AddProjectRole", request, { key, organizationId: organizationId.value });
    say(t(projectTexts.roleAdded));
    await read();
  };
  const isLong = roles.hasMore || roles.rows.length > 10 || search.value !== "";
  return (
    <Card
      class="flush"
      title={t(projectTexts.roles)}
      about={t(projectTexts.rolesAbout)}
      actions={
        mayWrite && (
          <Ask
            text={t(projectTexts.addRole)}
            icon="plus"
            kind="main"
            id="add-role"
            fields={[
              { name: "key", label: t(projectTexts.key), help: t(projectTexts.keyAbout) },
              { name: "displayName", label: t(projectTexts.displayName), isOptional: true },
            ]}
            values={{ key: "", displayName: "" }}
            act={add}
          />
        )
      }
    >
      {isLong && (
        <div class="filters">
          <Search value={search} label={t(objectTexts.findRole)} />
        </div>
      )}
      <List
        of={roles}
        label={t(projectTexts.roles)}
        keyOf={({ key = "" }) => key}
        columns={[
          { title: t(projectTexts.displayName), cell: ({ displayName, key }) => <b>{displayName || key}</b> },
          { title: t(projectTexts.key), cell: ({ key }) => <code>{key}</code> },
          {
            title: t(partTexts.acts),
            cell: (role) =>
              mayWrite && <Acts role={role} about={{ projectId, sequence: details?.sequence ?? "0" }} onDone={read} />,
            isActs: true,
          },
        ]}
        empty={<Empty>{t(search.value ? partTexts.noMatch : projectTexts.noRoles)}</Empty>}
      />
    </Card>
  );
}

type ActsProps = {
  readonly role: ProjectRoleJson;
  readonly about: { readonly projectId: string; readonly sequence: string };
  readonly onDone: () => Promise<void>;
};

function Acts({ role: { key: roleKey = "", displayName = "" }, about: { projectId, sequence }, onDone }: ActsProps) {
  const about = { projectId, roleKey };
  const options = { organizationId: organizationId.value };
  const read = async () => {
    // The version is read first: the write detects changes between the two reads.
    const { project } = await call("ProjectService/GetProject", { projectId }, options);
    const { roles = [] } = await call(
      "ProjectService/ListProjectRoles",
      { projectId, filter: { key: roleKey } },
      options,
    );
    return {
      values: { displayName: roles[0]?.displayName ?? "" },
      sequence: project?.details?.sequence ?? "0",
    };
  };
  const save = ({ draft, expectedSequence, key }: Save) => {
    const request = { ...about, role: { displayName: String(draft.displayName) }, expectedSequence };
    return call("ProjectService/UpdateProjectRole", request, { ...options, key });
  };
  const remove = async ({ key }: Submission) => {
    await call("ProjectService/RemoveProjectRole", about, { key, organizationId: organizationId.value });
    await onDone();
  };
  return (
    <Menu>
      <EditDialog
        title={roleKey}
        fields={[{ name: "displayName", label: t(projectTexts.displayName) }]}
        version={{ values: { displayName }, sequence }}
        read={read}
        save={save}
        onSaved={onDone}
      />
      <Ask
        text={t(objectTexts.remove)}
        kind="danger"
        about={t(projectTexts.removeRole, { key: roleKey })}
        act={remove}
      />
    </Menu>
  );
}
