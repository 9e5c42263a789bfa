import type { ApplicationJson } from "../../gen/postern/v1/application_pb.ts";
import { kindOf } from "../application/kinds.ts";
import { useList } from "../calls/use_list.ts";
import { linkTo } from "../links.ts";
import { Badge, StateBadge } from "../parts/badge.tsx";
import { LinkButton } from "../parts/button.tsx";
import { Id } from "../parts/copy.tsx";
import { List } from "../parts/list.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { may } from "../sign_in/me.ts";
import { applicationTexts } from "../texts/applications.ts";
import { projectTexts } from "../texts/projects.ts";
import { t } from "../texts/text.ts";

/** The applications of a project. */
export function Applications({ projectId }: { readonly projectId: string }) {
  const list = useList(
    "ApplicationService/ListApplications",
    { projectId },
    { rowsOf: ({ applications }) => applications },
  );
  return (
    <Card
      class="flush"
      title={t(projectTexts.applications)}
      actions={
        may("ApplicationService/CreateOidcApplication", { projectId }) && (
          <LinkButton icon="plus" kind="main" href={linkTo(["projects", projectId, "applications", "new"])}>
            {t(projectTexts.addApplication)}
          </LinkButton>
        )
      }
    >
      <List
        of={list}
        label={t(projectTexts.applications)}
        keyOf={({ id = "" }) => id}
        columns={[
          { title: t(projectTexts.name), cell: (application) => <ApplicationName of={application} /> },
          { title: t(projectTexts.clientId), cell: ({ clientId }) => clientId && <Id>{clientId}</Id>, isMinor: true },
          { title: t(projectTexts.state), cell: (application) => <ApplicationStates of={application} /> },
        ]}
        empty={<Empty>{t(projectTexts.noApplications)}</Empty>}
      />
    </Card>
  );
}

export function ApplicationName({ of }: { readonly of: ApplicationJson }) {
  return (
    <div class="who">
      <div>
        <a href={linkTo(["projects", of.projectId ?? "", "applications", of.id ?? ""])}>{of.name}</a>
        <small>{t(applicationTexts[kindOf(of)])}</small>
      </div>
    </div>
  );
}

export function ApplicationStates({ of: { state, noneCompliant } }: { readonly of: ApplicationJson }) {
  return (
    <div class="badges">
      {noneCompliant ? <Badge tone="warn">{t(projectTexts.notCompliant)}</Badge> : <StateBadge state={state} />}
      {noneCompliant && state === "APPLICATION_STATE_INACTIVE" && <StateBadge state={state} />}
    </div>
  );
}
