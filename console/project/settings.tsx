import { useLocation } from "preact-iso";
import type { ProjectJson } from "../../gen/postern/v1/project_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { linkTo } from "../links.ts";
import { StateSwitch } from "../objects/state_switch.tsx";
import { Ask } from "../parts/ask.tsx";
import type { Version } from "../parts/conflict.tsx";
import { EditCard } from "../parts/edit_card.tsx";
import type { Submission } from "../parts/form.tsx";
import { forgetName } from "../parts/names.tsx";
import { Card } from "../parts/page.tsx";
import { say } from "../parts/toasts.tsx";
import type { Save } from "../parts/version_form.tsx";
import { may } from "../sign_in/me.ts";
import { projectTexts } from "../texts/projects.ts";
import { t } from "../texts/text.ts";

type SettingsProps = { readonly project: ProjectJson; readonly onChanged: () => Promise<void> };

/** The name of the project, the users who may sign in, and its state. */
export function Settings({ project, onChanged }: SettingsProps) {
  const projectId = project.id ?? "";
  const options = { organizationId: organizationId.value };
  const read = async () => versionOf((await call("ProjectService/GetProject", { projectId }, options)).project ?? {});
  const save = ({ changed, expectedSequence, key }: Save) =>
    call("ProjectService/UpdateProject", { projectId, project: changed, expectedSequence }, { ...options, key });
  const onSaved = () => {
    forgetName(projectId);
    return onChanged();
  };
  return (
    <div class="cards">
      <EditCard
        title={t(projectTexts.settings)}
        fields={[
          { name: "name", label: t(projectTexts.name) },
          {
            name: "grantRequired",
            label: t(projectTexts.grantRequired),
            kind: "switch",
            help: t(projectTexts.grantRequiredAbout),
          },
        ]}
        version={versionOf(project)}
        mayEdit={may("ProjectService/UpdateProject", { projectId })}
        read={read}
        save={save}
        onSaved={onSaved}
      />
      <State project={project} onChanged={onChanged} />
    </div>
  );
}

const versionOf = ({ name = "", grantRequired = false, details }: ProjectJson): Version => ({
  values: { name, grantRequired },
  sequence: details?.sequence ?? "0",
});

function State({ project, onChanged }: SettingsProps) {
  const { route } = useLocation();
  const projectId = project.id ?? "";
  const options = { organizationId: organizationId.value };
  const switchTo =
    (method: "DeactivateProject" | "ReactivateProject") =>
    async ({ key }: Submission) => {
      await call(`ProjectService/${method}`, { projectId }, { ...options, key });
      await onChanged();
    };
  const remove = async ({ key }: Submission) => {
    await call("ProjectService/DeleteProject", { projectId }, { ...options, key });
    say(t(projectTexts.removed));
    route(linkTo(["projects"]));
  };
  return (
    <Card title={t(projectTexts.stateOf)}>
      <div class="actions">
        <StateSwitch
          isInactive={project.state === "PROJECT_STATE_INACTIVE"}
          about={{ deactivate: projectTexts.deactivateAbout, reactivate: projectTexts.reactivateAbout }}
          switchTo={(state) => switchTo(`${state}Project`)}
        />
        <Ask
          text={t(projectTexts.remove)}
          kind="danger"
          about={t(projectTexts.removeAbout, { name: project.name ?? "" })}
          act={remove}
        />
      </div>
    </Card>
  );
}
