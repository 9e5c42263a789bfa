import { lazy } from "preact-iso";
import { linkTo } from "../links.ts";
import { History } from "../objects/history.tsx";
import { Members } from "../objects/members.tsx";
import type { PageProps } from "../page_props.ts";
import { PageHeader, type Tab, Tabs } from "../parts/page.tsx";
import { Policies } from "../policies/policies.tsx";
import { may } from "../sign_in/me.ts";
import { brandingTexts } from "../texts/branding.ts";
import { organizationTexts } from "../texts/organizations.ts";
import { partTexts } from "../texts/parts.ts";
import { policyTexts } from "../texts/policies.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";

// Loaded only if somebody opens the branding.
const BrandingCard = lazy(async () => (await import("../branding/card.tsx")).BrandingCard);

const scope = { instance: true } as const;

/** The instance: the defaults for organizations without their own, and its managers. */
export default function InstancePage({ part = "" }: PageProps) {
  return (
    <>
      <PageHeader title={t(shellTexts.instance)} below={t(policyTexts.instanceAbout)} />
      <Tabs label={t(policyTexts.instanceParts)} tabs={tabs()} />
      {part === "" && <Policies of={scope} />}
      {part === "branding" && <BrandingCard of={scope} name="" />}
      {part === "members" && <Members of={scope} />}
      {part === "history" && <History of={scope} about={t(policyTexts.instanceHistory)} />}
    </>
  );
}

function tabs(): readonly Tab[] {
  const to = (...rest: string[]) => linkTo(["instance", ...rest]);
  return [
    { text: t(policyTexts.policies), href: to() },
    ...(may("OrganizationService/GetBranding", scope)
      ? [{ text: t(brandingTexts.branding), href: to("branding") }]
      : []),
    ...(may("MemberService/ListMembers", scope) ? [{ text: t(organizationTexts.members), href: to("members") }] : []),
    ...(may("EventService/ListEvents", scope) ? [{ text: t(partTexts.history), href: to("history") }] : []),
  ];
}
