import { useLocation } from "preact-iso";
import type { OrganizationJson } from "../../gen/postern/v1/organization_pb.ts";
import { call } from "../calls/client.ts";
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
import { may, me, readMe } from "../sign_in/me.ts";
import { organizationTexts } from "../texts/organizations.ts";
import { t } from "../texts/text.ts";
import { OrganizationMetadata } from "./metadata.tsx";

type SettingsProps = { readonly organization: OrganizationJson; readonly onChanged: () => Promise<void> };

/** The name of the organization, the form of its users' login names, and its state. */
export function Settings({ organization, onChanged }: SettingsProps) {
  const organizationId = organization.id ?? "";
  const about = { organizationId };
  const read = async () =>
    versionOf((await call("OrganizationService/GetOrganization", about, about)).organization ?? {});
  const save = ({ changed, expectedSequence, key }: Save) =>
    call(
      "OrganizationService/UpdateOrganization",
      { ...about, organization: changed, expectedSequence },
      { ...about, key },
    );
  const onSaved = async () => {
    forgetName(organizationId);
    await Promise.all([onChanged(), readMe()]);
  };
  return (
    <div class="cards">
      <EditCard
        title={t(organizationTexts.settings)}
        fields={[
          { name: "name", label: t(organizationTexts.name) },
          {
            name: "ownLoginNames",
            label: t(organizationTexts.ownLoginNames),
            kind: "switch",
            help: t(organizationTexts.ownLoginNamesAbout),
          },
          {
            name: "requiresAcceptance",
            label: t(organizationTexts.requiresAcceptance),
            kind: "switch",
            help: t(organizationTexts.requiresAcceptanceAbout),
          },
        ]}
        version={versionOf(organization)}
        mayEdit={may("OrganizationService/UpdateOrganization", about)}
        read={read}
        save={save}
        onSaved={onSaved}
      />
      {may("OrganizationService/GetOrganizationMetadata", about) && (
        <OrganizationMetadata organization={organization} onChanged={onChanged} />
      )}
      {may("OrganizationService/DeactivateOrganization", { instance: true }) && (
        <State organization={organization} onChanged={onChanged} />
      )}
    </div>
  );
}

const versionOf = ({
  name = "",
  ownLoginNames = false,
  requiresAcceptance = false,
  details,
}: OrganizationJson): Version => ({
  values: { name, ownLoginNames, requiresAcceptance },
  sequence: details?.sequence ?? "0",
});

function State({ organization, onChanged }: SettingsProps) {
  const { route } = useLocation();
  const { id: organizationId = "", name = "" } = organization;
  const switchTo =
    (method: "DeactivateOrganization" | "ReactivateOrganization") =>
    async ({ key }: Submission) => {
      await call(`OrganizationService/${method}`, { organizationId }, { key });
      await onChanged();
    };
  const remove = async ({ key }: Submission) => {
    await call("OrganizationService/DeleteOrganization", { organizationId }, { key });
    say(t(organizationTexts.removing));
    route(linkTo(["organizations"], { org: me.value?.organization?.id }));
  };
  return (
    <Card title={t(organizationTexts.stateOf)}>
      <div class="actions">
        <StateSwitch
          isInactive={organization.state === "ORGANIZATION_STATE_INACTIVE"}
          about={{ deactivate: organizationTexts.deactivateAbout, reactivate: organizationTexts.reactivateAbout }}
          switchTo={(state) => switchTo(`${state}Organization`)}
        />
        <Ask
          text={t(organizationTexts.remove)}
          kind="danger"
          about={t(organizationTexts.removeAbout, { name })}
          fields={[{ name: "name", label: t(organizationTexts.name) }]}
          values={{ name: "" }}
          check={({ name: written }) =>
            written === name ? undefined : { field: "name", text: t(organizationTexts.nameDiffers) }
          }
          act={remove}
        />
      </div>
    </Card>
  );
}
