import type { ProjectJson } from "../../gen/postern/v1/project_pb.ts";
import { organizationId } from "../calls/organization.ts";
import { useCall } from "../calls/use_call.ts";
import { linkTo } from "../links.ts";
import { Grants } from "../objects/grants.tsx";
import { History } from "../objects/history.tsx";
import { Members } from "../objects/members.tsx";
import type { PageProps } from "../page_props.ts";
import { Badge, StateBadge } from "../parts/badge.tsx";
import { Id } from "../parts/copy.tsx";
import { PageHeader, Read, type Tab, Tabs } from "../parts/page.tsx";
import { may } from "../sign_in/me.ts";
import { partTexts } from "../texts/parts.ts";
import { projectTexts } from "../texts/projects.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { Applications } from "./applications.tsx";
import { ProjectGrants } from "./project_grants.tsx";
import { ProjectRoles } from "./project_roles.tsx";
import { Settings } from "./settings.tsx";

/** A project: its roles and their holders, its applications, and its managers. */
export default function ProjectPage({ projectId = "", part = "" }: PageProps) {
  const reading = useCall("ProjectService/GetProject", { projectId });
  return (
    <Read of={reading} title={t(shellTexts.projects)}>
      {({ project }) => project && <Parts project={project} onChanged={reading.reload} part={part} />}
    </Read>
  );
}

type PartsProps = { readonly project: ProjectJson; readonly onChanged: () => Promise<void>; readonly part: string };

function Parts({ project, onChanged, part }: PartsProps) {
  const { id = "", name = "", state, details } = project;
  const tabs = tabsOf(project);
  const chosen = part || "roles";
  return (
    <>
      <PageHeader
        title={name}
        path={[{ text: t(shellTexts.projects), href: linkTo(["projects"]) }]}
        beside={
          <>
            <StateBadge state={state} />
            {details?.resourceOwner !== organizationId.value && <Badge>{t(projectTexts.ofOthers)}</Badge>}
          </>
        }
        below={<Id>{id}</Id>}
      />
      <Tabs label={t(projectTexts.parts)} tabs={tabs} />
      {chosen === "roles" && <ProjectRoles project={project} onChanged={onChanged} />}
      {chosen === "grants" && <Grants projectId={id} />}
      {chosen === "applications" && <Applications projectId={id} />}
      {chosen === "organizations" && <ProjectGrants projectId={id} />}
      {chosen === "members" && <Members of={{ projectId: id }} />}
      {chosen === "settings" && <Settings project={project} onChanged={onChanged} />}
      {chosen === "history" && <History of={{ projectId: id }} about={t(projectTexts.historyAbout)} />}
    </>
  );
}

function tabsOf({ id: projectId = "", details }: ProjectJson): readonly Tab[] {
  const isOwn = details?.resourceOwner === organizationId.value;
  const scope = { projectId };
  const to = (part: string) => linkTo(["projects", projectId, part]);
  const tab = (is: boolean, text: string, href: string): Tab[] => (is ? [{ text, href }] : []);
  return [
    ...tab(true, t(projectTexts.roles), linkTo(["projects", projectId])),
    ...tab(may("UserGrantService/ListUserGrants", scope), t(projectTexts.grants), to("grants")),
    ...tab(
      isOwn && may("ApplicationService/ListApplications", scope),
      t(projectTexts.applications),
      to("applications"),
    ),
    ...tab(isOwn && may("ProjectService/ListProjectGrants", scope), t(shellTexts.organizations), to("organizations")),
    ...tab(isOwn && may("MemberService/ListMembers", scope), t(projectTexts.members), to("members")),
    ...tab(isOwn && may("ProjectService/UpdateProject", scope), t(projectTexts.settings), to("settings")),
    ...tab(may("EventService/ListEvents", scope), t(partTexts.history), to("history")),
  ];
}
