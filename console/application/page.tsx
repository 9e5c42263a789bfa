import { useLocation } from "preact-iso";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { useCall } from "../calls/use_call.ts";
import { linkTo } from "../links.ts";
import { History } from "../objects/history.tsx";
import { StateSwitch } from "../objects/state_switch.tsx";
import type { PageProps } from "../page_props.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge, StateBadge } from "../parts/badge.tsx";
import { LinkButton } from "../parts/button.tsx";
import { Id } from "../parts/copy.tsx";
import type { Submission } from "../parts/form.tsx";
import { useName } from "../parts/names.tsx";
import { Card, PageHeader, Read, Tabs } from "../parts/page.tsx";
import { say } from "../parts/toasts.tsx";
import { may } from "../sign_in/me.ts";
import { applicationTexts } from "../texts/applications.ts";
import { allApplicationTexts } from "../texts/deliveries.ts";
import { partTexts } from "../texts/parts.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import type { ApplicationPart } from "./application_part.ts";
import { DeclaredClaims } from "./claims.tsx";
import { Client } from "./client.tsx";
import { Configuration } from "./configuration.tsx";
import { Connect } from "./connect.tsx";
import { Keys } from "./keys.tsx";
import { hasKeys, kindOf } from "./kinds.ts";
import { Tokens } from "./tokens.tsx";

/** An application: how it signs users in, how it authenticates, and how to connect it. */
export default function ApplicationPage({ projectId = "", appId = "", part = "" }: PageProps) {
  const reading = useCall("ApplicationService/GetApplication", { projectId, appId });
  return (
    <Read of={reading} title={t(allApplicationTexts.title)}>
      {({ application }) =>
        application && <Parts application={application} projectId={projectId} onChanged={reading.reload} part={part} />
      }
    </Read>
  );
}

function Parts({ part, ...given }: ApplicationPart & { readonly part: string }) {
  const { application, projectId } = given;
  const { id = "", name = "", state } = application;
  const project = useName(projectId);
  const to = (...rest: string[]) => linkTo(["projects", projectId, "applications", id, ...rest]);
  const tabs = [
    { text: t(applicationTexts.configuration), href: to() },
    { text: t(applicationTexts.connect), href: to("connect") },
    ...(may("EventService/ListEvents") ? [{ text: t(partTexts.history), href: to("history") }] : []),
  ];
  return (
    <>
      <PageHeader
        title={name}
        path={[
          { text: t(shellTexts.projects), href: linkTo(["projects"]) },
          { text: project?.name ?? projectId, href: linkTo(["projects", projectId, "applications"]) },
        ]}
        beside={
          <>
            <StateBadge state={state} />
            <Badge>{t(applicationTexts[kindOf(application)])}</Badge>
          </>
        }
        actions={
          application.oidc &&
          may("ExplanationService/ExplainSignIn", { projectId }) && (
            <LinkButton icon="why" href={linkTo(["why"], { project: projectId, app: id })}>
              {t(shellTexts.why)}
            </LinkButton>
          )
        }
        below={<Id>{id}</Id>}
      />
      <Tabs label={t(applicationTexts.parts)} tabs={tabs} />
      {part === "" && (
        <div class="cards">
          <Client {...given} />
          {hasKeys(application) && <Keys {...given} />}
          <Configuration {...given} />
          {application.oidc && <Tokens {...given} />}
          {application.oidc && <DeclaredClaims {...given} />}
          <State {...given} />
        </div>
      )}
      {part === "connect" && <Connect application={application} />}
      {part === "history" && <History of={{ objectId: id }} about={t(applicationTexts.historyAbout)} />}
    </>
  );
}

function State({ application, projectId, onChanged }: ApplicationPart) {
  const { route } = useLocation();
  if (!may("ApplicationService/DeactivateApplication", { projectId })) return null;
  const about = { projectId, appId: application.id ?? "" };
  const options = { organizationId: organizationId.value };
  const switchTo =
    (method: "DeactivateApplication" | "ReactivateApplication") =>
    async ({ key }: Submission) => {
      await call(`ApplicationService/${method}`, about, { ...options, key });
      await onChanged();
    };
  const remove = async ({ key }: Submission) => {
    await call("ApplicationService/DeleteApplication", about, { ...options, key });
    say(t(applicationTexts.removed));
    route(linkTo(["projects", projectId, "applications"]));
  };
  const isInactive = application.state === "APPLICATION_STATE_INACTIVE";
  return (
    <Card title={t(applicationTexts.stateOf)}>
      <div class="actions">
        <StateSwitch
          isInactive={isInactive}
          about={{ deactivate: applicationTexts.deactivateAbout, reactivate: applicationTexts.reactivateAbout }}
          switchTo={(state) => switchTo(`${state}Application`)}
        />
        <Ask
          text={t(applicationTexts.remove)}
          kind="danger"
          about={t(applicationTexts.removeAbout, { name: application.name ?? "" })}
          act={remove}
        />
      </div>
    </Card>
  );
}
