import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { ApplicationFilterJson } from "../../gen/postern/v1/application_pb.ts";
import { useList } from "../calls/use_list.ts";
import { linkTo } from "../links.ts";
import { List } from "../parts/list.tsx";
import { Named } from "../parts/names.tsx";
import { Card, Empty, PageHeader } from "../parts/page.tsx";
import { Search } from "../parts/search.tsx";
import { ApplicationName, ApplicationStates } from "../project/applications.tsx";
import { allApplicationTexts } from "../texts/deliveries.ts";
import { projectTexts } from "../texts/projects.ts";
import { t } from "../texts/text.ts";

const views = [
  { name: "", text: allApplicationTexts.everything, filter: {} },
  {
    name: "compliant",
    text: allApplicationTexts.compliant,
    filter: { compliance: "APPLICATION_COMPLIANCE_COMPLIANT" },
  },
  {
    name: "not-compliant",
    text: allApplicationTexts.notCompliant,
    filter: { compliance: "APPLICATION_COMPLIANCE_NOT_COMPLIANT" },
  },
] as const;

/** The applications of all projects of the organization. */
export default function ApplicationsPage() {
  const { query, route } = useLocation();
  const search = useSignal(query.search ?? "");
  const view = useSignal(query.view ?? "");
  const here = linkTo(["applications"], { view: view.value, search: search.value });
  useEffect(() => {
    if (here !== location.pathname + location.search) route(here, true);
  }, [here]);
  const filter: ApplicationFilterJson = {
    ...views.find(({ name }) => name === view.value)?.filter,
    ...(search.value ? { search: search.value } : {}),
  };
  const list = useList("ApplicationService/ListApplications", { filter }, { rowsOf: (page) => page.applications });
  return (
    <>
      <PageHeader title={t(allApplicationTexts.title)} />
      <Card class="flush">
        <div class="filters">
          <Search value={search} label={t(allApplicationTexts.find)} />
          <select
            aria-label={t(allApplicationTexts.compliance)}
            value={view.value}
            onChange={(event) => (view.value = event.currentTarget.value)}
          >
            {views.map(({ name, text }) => (
              <option key={name} value={name}>
                {t(text)}
              </option>
            ))}
          </select>
        </div>
        <List
          of={list}
          label={t(allApplicationTexts.title)}
          keyOf={({ id = "" }) => id}
          columns={[
            { title: t(projectTexts.name), cell: (application) => <ApplicationName of={application} /> },
            {
              title: t(allApplicationTexts.project),
              cell: ({ projectId }) => projectId && <Named id={projectId} kind="project" />,
              isMinor: true,
            },
            { title: t(projectTexts.state), cell: (application) => <ApplicationStates of={application} /> },
          ]}
          empty={<Empty>{t(allApplicationTexts.noMatch)}</Empty>}
        />
      </Card>
    </>
  );
}
