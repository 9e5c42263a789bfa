import type { HeldRoleJson } from "../../gen/postern/v1/account_pb.ts";
import { organizationId } from "../calls/organization.ts";
import { useCall } from "../calls/use_call.ts";
import { linkTo } from "../links.ts";
import { EventList } from "../objects/history.tsx";
import { Roles } from "../objects/roles.tsx";
import { LinkButton } from "../parts/button.tsx";
import { Named, useName } from "../parts/names.tsx";
import { Card, Empty, PageHeader, Read } from "../parts/page.tsx";
import { may, me } from "../sign_in/me.ts";
import { homeTexts } from "../texts/home.ts";
import { objectTexts } from "../texts/objects.ts";
import { t } from "../texts/text.ts";
import { Attention } from "./attention.tsx";

/** The start page: what needs attention in the organization, what the user can do, and the latest events. */
export default function HomePage() {
  const id = organizationId.value ?? "";
  const own = me.value?.organization;
  const other = useName(id === own?.id ? undefined : id);
  const scope = { organizationId: id };
  return (
    <>
      <PageHeader title={(id === own?.id ? own.name : other?.name) || id} />
      <div class="home">
        <div class="cards">
          {may("OrganizationService/GetOverview", scope) && <Attention />}
          {may("EventService/ListEvents", scope) && <Latest />}
        </div>
        <YourRoles />
      </div>
    </>
  );
}

function Latest() {
  const events = useCall("EventService/ListEvents", { pageSize: 8 });
  return (
    <Card
      class="flush"
      title={t(homeTexts.latest)}
      actions={<LinkButton href={linkTo(["events"])}>{t(homeTexts.allEvents)}</LinkButton>}
    >
      <Read of={events}>
        {({ events: found = [] }) =>
          found.length > 0 ? <EventList events={found} /> : <Empty>{t(objectTexts.noEvents)}</Empty>
        }
      </Read>
    </Card>
  );
}

function YourRoles() {
  const places = Object.values(Object.groupBy(me.value?.roles ?? [], placeOf));
  return (
    <Card title={t(homeTexts.yourRoles)} about={t(homeTexts.yourRolesAbout)}>
      <ul class="places">
        {places.map((roles = []) => (
          <li key={placeOf(roles[0] ?? {})}>
            <Place of={roles[0] ?? {}} />
            <Roles keys={roles.map(({ role = "" }) => role)} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

const placeOf = ({ organizationId: of, projectId, projectGrantId }: HeldRoleJson): string =>
  [of, projectId, projectGrantId].join(" ");

function Place({ of: { organizationId: org, projectId } }: { readonly of: HeldRoleJson }) {
  if (projectId)
    return (
      <a href={linkTo(["projects", projectId], { org })}>
        <NameOf id={projectId} />
      </a>
    );
  if (!org) return <b>{t(homeTexts.theInstance)}</b>;
  const own = me.value?.organization;
  return org === own?.id ? <a href={linkTo([], { org })}>{own.name}</a> : <Named id={org} kind="organization" />;
}

const NameOf = ({ id }: { readonly id: string }) => <>{useName(id)?.name ?? id}</>;
