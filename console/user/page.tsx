import type { UserJson } from "../../gen/postern/v1/user_pb.ts";
import { useCall } from "../calls/use_call.ts";
import { linkTo } from "../links.ts";
import { History } from "../objects/history.tsx";
import type { PageProps } from "../page_props.ts";
import { Badge, StateBadge } from "../parts/badge.tsx";
import { LinkButton } from "../parts/button.tsx";
import { Id } from "../parts/copy.tsx";
import { PageHeader, Read, type Tab, Tabs } from "../parts/page.tsx";
import { may } from "../sign_in/me.ts";
import { partTexts } from "../texts/parts.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { oneUserTexts } from "../texts/user.ts";
import { userTexts } from "../texts/users.ts";
import { nameOf } from "../users/user_name.ts";
import { Access } from "./access.tsx";
import { Applications } from "./applications.tsx";
import { Profile } from "./profile.tsx";
import { Security } from "./security.tsx";
import type { UserPart } from "./user_part.ts";

/** A user: profile, access, sign-in and history. */
export default function UserPage({ userId = "", part = "" }: PageProps) {
  const reading = useCall("UserService/GetUser", { userId });
  return (
    <Read of={reading} title={t(shellTexts.users)}>
      {({ user }) => user && <Parts user={user} reading={reading} part={part} />}
    </Read>
  );
}

function Parts({ user, reading, part }: UserPart & { readonly part: string }) {
  const { id = "", username = "", machine, state } = user;
  const given = { user, reading };
  return (
    <>
      <PageHeader
        title={nameOf(user)}
        path={[{ text: t(shellTexts.users), href: linkTo(["users"]) }]}
        beside={
          <>
            <StateBadge state={state} />
            {machine && <Badge>{t(userTexts.machine)}</Badge>}
          </>
        }
        actions={
          user.human &&
          may("ExplanationService/ExplainSignIn") && (
            <LinkButton icon="why" href={linkTo(["why"], { user: id })}>
              {t(shellTexts.why)}
            </LinkButton>
          )
        }
        below={
          <>
            <span>{username}</span>
            <Id>{id}</Id>
          </>
        }
      />
      <Tabs label={t(oneUserTexts.parts)} tabs={tabsOf(user)} />
      {part === "" && <Profile {...given} />}
      {part === "access" && <Access user={user} />}
      {part === "security" && <Security {...given} />}
      {part === "applications" && <Applications user={user} />}
      {part === "history" && <History of={{ aboutUserId: id }} about={t(oneUserTexts.historyAbout)} />}
    </>
  );
}

function tabsOf({ id = "", human, details }: UserJson): readonly Tab[] {
  const scope = { organizationId: details?.resourceOwner };
  const to = (part: string) => linkTo(["users", id, part]);
  return [
    { text: t(oneUserTexts.profile), href: linkTo(["users", id]) },
    { text: t(oneUserTexts.access), href: to("access") },
    { text: t(oneUserTexts.security), href: to("security") },
    ...(human ? [{ text: t(oneUserTexts.applications), href: to("applications") }] : []),
    ...(may("EventService/ListEvents", { ...scope, aboutUserId: id })
      ? [{ text: t(partTexts.history), href: to("history") }]
      : []),
  ];
}
