import type {
  GetOverviewResponseJson,
  InstanceOverviewJson,
  OverviewCountJson,
} from "../../gen/postern/v1/organization_pb.ts";
import { organizationId } from "../calls/organization.ts";
import { useCall } from "../calls/use_call.ts";
import { linkTo } from "../links.ts";
import { Icon, type IconName } from "../parts/icons.tsx";
import { Card, Facts, Read } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { homeTexts } from "../texts/home.ts";
import { shellTexts } from "../texts/shell.ts";
import { type Text, t } from "../texts/text.ts";

type Matter = {
  readonly text: Text;
  readonly icon: IconName;
  readonly count: OverviewCountJson | undefined;
  readonly href?: string;
};

/** Objects that need attention, with counts up to a hundred. */
export function Attention() {
  const overview = useCall("OrganizationService/GetOverview", {});
  return (
    <>
      <Card title={t(homeTexts.attention)} class="attention">
        <Read of={overview}>{(found) => <Matters of={mattersOf(found)} />}</Read>
      </Card>
      {overview.data?.instance && <Instance of={overview.data.instance} />}
    </>
  );
}

function Matters({ of }: { readonly of: readonly Matter[] }) {
  const open = of.filter(({ count }) => (count?.count ?? 0) > 0);
  if (open.length === 0)
    return (
      <p class="all-good">
        <Icon name="check" />
        {t(homeTexts.allGood)}
      </p>
    );
  return (
    <ul class="matters">
      {open.map(({ text, icon, count, href }) => (
        <li key={t(text)}>
          <Icon name={icon} />
          <b>{`${count?.count}${count?.more ? "+" : ""}`}</b>
          {href ? <a href={href}>{t(text)}</a> : <span>{t(text)}</span>}
        </li>
      ))}
    </ul>
  );
}

function mattersOf({ instance, ...own }: GetOverviewResponseJson): readonly Matter[] {
  const { lockedUsers, pendingInvitations, expiringAccessTokens, expiringClientSecrets } = own;
  const givenUp = (kind: string) => linkTo(["deliveries"], { kind, place: "instance" });
  return [
    { text: homeTexts.lockedUsers, icon: "lock", count: lockedUsers, href: linkTo(["users"], { view: "locked" }) },
    {
      text: homeTexts.pendingInvitations,
      icon: "mail",
      count: pendingInvitations,
      href: linkTo(["organizations", organizationId.value ?? "", "invitations"]),
    },
    { text: homeTexts.expiringAccessTokens, icon: "clock", count: expiringAccessTokens },
    { text: homeTexts.expiringClientSecrets, icon: "key", count: expiringClientSecrets },
    {
      text: homeTexts.notCompliantApplications,
      icon: "application",
      count: own.notCompliantApplications,
      href: linkTo(["applications"], { view: "not-compliant" }),
    },
    { text: homeTexts.mailsGivenUp, icon: "mail", count: instance?.mailsGivenUp, href: givenUp("mail") },
    { text: homeTexts.smsGivenUp, icon: "phone", count: instance?.smsGivenUp, href: givenUp("sms") },
    { text: homeTexts.signOutsGivenUp, icon: "out", count: instance?.signOutsGivenUp, href: givenUp("sign-out") },
  ];
}

function Instance({
  of: { version, migrationCount, latestMigration, signingKeys = [] },
}: {
  readonly of: InstanceOverviewJson;
}) {
  const keys = signingKeys.map(({ kid = "", algorithm, signsFrom }) => (
    <li key={kid}>
      {algorithm} <code>{kid}</code>
      {signsFrom && new Date(signsFrom) > new Date() && (
        <span class="quiet">
          {" "}
          {t(homeTexts.signsFrom)} <Time at={signsFrom} exact />
        </span>
      )}
    </li>
  ));
  return (
    <Card title={t(shellTexts.instance)}>
      <Facts
        facts={[
          [t(homeTexts.version), version],
          [t(homeTexts.migrations), `${migrationCount} · ${latestMigration}`],
          [t(homeTexts.signingKeys), keys.length > 0 && <ul class="lines">{keys}</ul>],
        ]}
      />
    </Card>
  );
}
