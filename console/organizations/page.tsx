import { useSignal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { call } from "../calls/client.ts";
import { useList } from "../calls/use_list.ts";
import { linkTo } from "../links.ts";
import { UserControl } from "../objects/pickers.tsx";
import { Ask } from "../parts/ask.tsx";
import { Badge, StateBadge } from "../parts/badge.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Card, Empty, PageHeader } from "../parts/page.tsx";
import { Search } from "../parts/search.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toasts.tsx";
import { may, me } from "../sign_in/me.ts";
import { organizationTexts } from "../texts/organizations.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";

/** The organizations that the user may see. */
export default function OrganizationsPage() {
  const { query } = useLocation();
  const search = useSignal(query.search ?? "");
  const filter = search.value ? { filter: { search: search.value } } : {};
  const list = useList("OrganizationService/ListOrganizations", filter, {
    rowsOf: ({ organizations }) => organizations,
  });
  return (
    <>
      <PageHeader
        title={t(shellTexts.organizations)}
        actions={may("OrganizationService/CreateOrganization", { instance: true }) && <CreateOrganization />}
      />
      <Card class="flush">
        <div class="filters">
          <Search value={search} label={t(shellTexts.findOrganization)} />
        </div>
        <List
          of={list}
          label={t(shellTexts.organizations)}
          keyOf={({ id = "" }) => id}
          columns={[
            {
              title: t(organizationTexts.name),
              cell: ({ id = "", name }) => (
                <div class="who">
                  <a href={linkTo(["organizations", id], { org: id })}>{name}</a>
                  {id === me.value?.organization?.id && <Badge>{t(shellTexts.yours)}</Badge>}
                </div>
              ),
            },
            { title: t(organizationTexts.state), cell: ({ state }) => <StateBadge state={state} /> },
            {
              title: t(organizationTexts.created),
              cell: ({ details }) => details?.creationDate && <Time at={details.creationDate} />,
              isMinor: true,
            },
          ]}
          empty={<Empty>{t(organizationTexts.noMatch)}</Empty>}
        />
      </Card>
    </>
  );
}

function CreateOrganization() {
  const { route } = useLocation();
  const act = async ({ draft, key }: Submission) => {
    const ownerUserId = String(draft.ownerUserId);
    const request = { name: String(draft.name), ownLoginNames: draft.ownLoginNames === true };
    const { organizationId: id = "" } = await call(
      "OrganizationService/CreateOrganization",
      ownerUserId ? { ...request, ownerUserId } : request,
      { key },
    );
    say(t(organizationTexts.createdNow));
    route(linkTo(["organizations", id], { org: id }));
  };
  return (
    <Ask
      text={t(organizationTexts.create)}
      icon="plus"
      kind="main"
      id="create-organization"
      fields={[
        { name: "name", label: t(organizationTexts.name) },
        {
          name: "ownerUserId",
          label: t(organizationTexts.owner),
          help: t(organizationTexts.ownerAbout),
          isOptional: true,
          control: UserControl,
        },
        {
          name: "ownLoginNames",
          label: t(organizationTexts.ownLoginNames),
          kind: "switch",
          help: t(organizationTexts.ownLoginNamesAbout),
        },
      ]}
      values={{ name: "", ownerUserId: "", ownLoginNames: false }}
      act={act}
    />
  );
}
