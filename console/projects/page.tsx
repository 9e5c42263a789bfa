import { useSignal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { useList } from "../calls/use_list.ts";
import { linkTo } from "../links.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge, StateBadge } from "../parts/badge.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Card, Empty, PageHeader } from "../parts/page.tsx";
import { Search } from "../parts/search.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toasts.tsx";
import { may } from "../sign_in/me.ts";
import { projectTexts } from "../texts/projects.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";

/** The projects of the organization, and those that it was granted. */
export default function ProjectsPage() {
  const { query } = useLocation();
  const search = useSignal(query.search ?? "");
  const filter = search.value ? { filter: { search: search.value } } : {};
  const projects = useList(
    "ProjectService/ListProjects",
    { includeGranted: true, ...filter },
    { rowsOf: ({ projects }) => projects },
  );
  return (
    <>
      <PageHeader
        title={t(shellTexts.projects)}
        actions={may("ProjectService/CreateProject") && <CreateProject isOpen={query.create !== undefined} />}
      />
      <Card class="flush">
        <div class="filters">
          <Search value={search} label={t(projectTexts.find)} />
        </div>
        <List
          of={projects}
          label={t(shellTexts.projects)}
          keyOf={({ id = "" }) => id}
          columns={[
            {
              title: t(projectTexts.name),
              cell: ({ id = "", name = "", details }) => (
                <div class="who">
                  <a href={linkTo(["projects", id])}>{name}</a>
                  {details?.resourceOwner !== organizationId.value && <Badge>{t(projectTexts.ofOthers)}</Badge>}
                </div>
              ),
            },
            { title: t(projectTexts.state), cell: ({ state }) => <StateBadge state={state} /> },
            {
              title: t(projectTexts.created),
              cell: ({ details }) => details?.creationDate && <Time at={details.creationDate} />,
              isMinor: true,
            },
          ]}
          empty={<Empty>{t(search.value ? projectTexts.noMatch : projectTexts.noProjects)}</Empty>}
        />
      </Card>
    </>
  );
}

function CreateProject({ isOpen }: { readonly isOpen: boolean }) {
  const { route } = useLocation();
  const act = async ({ draft, key }: Submission) => {
    const request = { name: String(draft.name), grantRequired: draft.grantRequired === true };
    const { projectId = "" } = await call("ProjectService/CreateProject", request, {
      key,
      organizationId: organizationId.value,
    });
    say(t(projectTexts.projectCreated));
    route(linkTo(["projects", projectId]));
  };
  return (
    <Ask
      text={t(shellTexts.createProject)}
      icon="plus"
      kind="main"
      id="create-project"
      isOpenAtFirst={isOpen}
      fields={[
        { name: "name", label: t(projectTexts.name) },
        {
          name: "grantRequired",
          label: t(projectTexts.grantRequired),
          kind: "switch",
          help: t(projectTexts.grantRequiredAbout),
        },
      ]}
      values={{ name: "", grantRequired: false }}
      act={act}
    />
  );
}
