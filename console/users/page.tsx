import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { UserJson } from "../../gen/postern/v1/user_pb.ts";
import { organizationId } from "../calls/organization.ts";
import { useList } from "../calls/use_list.ts";
import { linkTo } from "../links.ts";
import { StateBadge } from "../parts/badge.tsx";
import { LinkButton } from "../parts/button.tsx";
import { List } from "../parts/list.tsx";
import { Face } from "../parts/names.tsx";
import { Card, Empty, PageHeader } from "../parts/page.tsx";
import { Search } from "../parts/search.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../sign_in/me.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { userTexts } from "../texts/users.ts";
import { CreateUser } from "./create_user.tsx";
import { filterOf, kept, type UserQuery, views } from "./filters.ts";
import { nameOf } from "./user_name.ts";

/** The users of the organization. */
export default function UsersPage() {
  const { query, route } = useLocation();
  const search = useSignal(query.search ?? "");
  const filter = useSignal<UserQuery>({ kind: query.kind ?? "", view: query.view ?? "" });
  const asked = { ...filter.value, search: search.value };
  useEffect(() => {
    const here = linkTo(["users"], kept(asked));
    if (here !== location.pathname + location.search) route(here, true);
  }, [JSON.stringify(asked)]);
  const users = useList("UserService/ListUsers", { filter: filterOf(asked) }, { rowsOf: ({ users }) => users });
  const isFiltered = Object.values(asked).some(Boolean);
  const scope = { organizationId: organizationId.value };
  return (
    <>
      <PageHeader
        title={t(shellTexts.users)}
        actions={
          may("UserService/CreateHumanUser", scope) && (
            <CreateUser isOpen={query.create !== undefined} onCreated={(id) => route(linkTo(["users", id]))} />
          )
        }
      />
      <Card class="flush">
        <div class="filters">
          <Search value={search} label={t(userTexts.find)} />
          <select
            aria-label={t(userTexts.kind)}
            value={filter.value.kind}
            onChange={(event) => (filter.value = { ...filter.value, kind: event.currentTarget.value })}
          >
            <option value="">{t(userTexts.everybody)}</option>
            <option value="human">{t(userTexts.people)}</option>
            <option value="machine">{t(userTexts.machines)}</option>
          </select>
          <select
            aria-label={t(userTexts.state)}
            value={filter.value.view}
            onChange={(event) => (filter.value = { ...filter.value, view: event.currentTarget.value })}
          >
            {views.map(({ name, text }) => (
              <option key={name} value={name}>
                {t(text)}
              </option>
            ))}
          </select>
        </div>
        <List
          of={users}
          label={t(shellTexts.users)}
          keyOf={({ id = "" }) => id}
          columns={[
            { title: t(userTexts.user), cell: (user) => <UserCell user={user} /> },
            {
              title: t(userTexts.email),
              cell: ({ human }) => <span class="whole">{human?.email}</span>,
              isMinor: true,
            },
            { title: t(userTexts.state), cell: ({ state }) => <StateBadge state={state} /> },
            {
              title: t(userTexts.created),
              cell: ({ details }) => details?.creationDate && <Time at={details.creationDate} />,
              isMinor: true,
            },
          ]}
          empty={
            <Empty action={isFiltered && <LinkButton href={linkTo(["users"])}>{t(userTexts.showAll)}</LinkButton>}>
              {t(isFiltered ? userTexts.noMatch : userTexts.noUsers)}
            </Empty>
          }
        />
      </Card>
    </>
  );
}

function UserCell({ user }: { readonly user: UserJson }) {
  const { id = "", username = "", machine } = user;
  return (
    <div class="who">
      <Face name={nameOf(user)} isMachine={machine !== undefined} />
      <div>
        <a href={linkTo(["users", id])}>{nameOf(user)}</a>
        <small>{username}</small>
      </div>
    </div>
  );
}
