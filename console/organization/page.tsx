import { lazy } from "preact-iso";
import type { OrganizationJson } from "../../gen/postern/v1/organization_pb.ts";
import { useCall } from "../calls/use_call.ts";
import { linkTo } from "../links.ts";
import { History } from "../objects/history.tsx";
import { Members } from "../objects/members.tsx";
import type { PageProps } from "../page_props.ts";
import { Badge, StateBadge } from "../parts/badge.tsx";
import { Id } from "../parts/copy.tsx";
import { PageHeader, Read, type Tab, Tabs } from "../parts/page.tsx";
import { Policies } from "../policies/policies.tsx";
import { may, me } from "../sign_in/me.ts";
import { brandingTexts } from "../texts/branding.ts";
import { domainTexts } from "../texts/domains.ts";
import { invitationTexts } from "../texts/invitations.ts";
import { organizationTexts } from "../texts/organizations.ts";
import { partTexts } from "../texts/parts.ts";
import { policyTexts } from "../texts/policies.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { Domains } from "./domains.tsx";
import { InvitationCards } from "./invitations.tsx";
import { Settings } from "./settings.tsx";

// Loaded only if somebody opens the branding.
const BrandingCard = lazy(async () => (await import("../branding/card.tsx")).BrandingCard);

/** An organization: its settings, and its managers. */
export default function OrganizationPage({ organizationId: id = "", part = "" }: PageProps) {
  const reading = useCall("OrganizationService/GetOrganization", { organizationId: id }, { organizationId: id });
  return (
    <Read of={reading} title={t(shellTexts.organizations)}>
      {({ organization }) =>
        organization && <Parts organization={organization} part={part} onChanged={reading.reload} />
      }
    </Read>
  );
}

type PartsProps = {
  readonly organization: OrganizationJson;
  readonly part: string;
  readonly onChanged: () => Promise<void>;
};

function Parts({ organization, part, onChanged }: PartsProps) {
  const { id = "", name = "", state } = organization;
  return (
    <>
      <PageHeader
        title={name}
        path={[{ text: t(shellTexts.organizations), href: linkTo(["organizations"]) }]}
        beside={
          <>
            <StateBadge state={state} />
            {id === me.value?.organization?.id && <Badge>{t(shellTexts.yours)}</Badge>}
          </>
        }
        below={<Id>{id}</Id>}
      />
      <Tabs label={t(organizationTexts.parts)} tabs={tabsOf(id)} />
      {part === "" && <Settings organization={organization} onChanged={onChanged} />}
      {part === "policies" && <Policies of={{ organizationId: id }} />}
      {part === "branding" && <BrandingCard of={{ organizationId: id }} name={name} />}
      {part === "domains" && <Domains organizationId={id} />}
      {part === "invitations" && <InvitationCards organizationId={id} />}
      {part === "members" && <Members of={{ organizationId: id }} />}
      {part === "history" && <History of={{ objectId: id }} about={t(organizationTexts.historyAbout)} />}
    </>
  );
}

function tabsOf(id: string): readonly Tab[] {
  const scope = { organizationId: id };
  const to = (...rest: string[]) => linkTo(["organizations", id, ...rest], { org: id });
  const offered = [
    { text: organizationTexts.settings, part: "", needs: "OrganizationService/GetOrganization" },
    { text: policyTexts.policies, part: "policies", needs: "PolicyService/GetPasswordPolicy" },
    { text: brandingTexts.branding, part: "branding", needs: "OrganizationService/GetBranding" },
    { text: domainTexts.domains, part: "domains", needs: "DomainService/ListDomains" },
    { text: invitationTexts.invitations, part: "invitations", needs: "InvitationService/ListReceivedInvitations" },
    { text: organizationTexts.members, part: "members", needs: "MemberService/ListMembers" },
    { text: partTexts.history, part: "history", needs: "EventService/ListEvents" },
  ] as const;
  return offered
    .filter(({ needs }) => may(needs, scope))
    .map(({ text, part }) => ({ text: t(text), href: part ? to(part) : to() }));
}
