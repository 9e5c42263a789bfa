import { useLocation } from "preact-iso";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { linkTo } from "../links.ts";
import { findProjects, findUsers } from "../objects/pickers.tsx";
import { pages } from "../pages.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icons.tsx";
import { type Choice, Picker } from "../parts/picker.tsx";
import { may } from "../sign_in/me.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { isOffered, stepsOf } from "./navigation.tsx";

type Target = Choice & { readonly href: string };

/** Finds users, projects, applications and acts by a few letters. */
export default function Finder({ onClose }: { readonly onClose: () => void }) {
  const { route } = useLocation();
  const targets = new Map<string, string>();
  const find = async (text: string, signal: AbortSignal): Promise<readonly Choice[]> => {
    const found = await findAll(text, signal);
    for (const { id, href } of found) targets.set(id, href);
    return found;
  };
  const go = ({ id }: Choice) => {
    onClose();
    route(targets.get(id) ?? linkTo([]));
  };
  return (
    <Dialog title={t(shellTexts.find)} onClose={onClose} class="finder">
      <Picker
        id="finder"
        label={t(shellTexts.find)}
        placeholder={t(shellTexts.search)}
        isFirst
        isOpen
        find={find}
        onPick={go}
      />
    </Dialog>
  );
}

async function findAll(text: string, signal: AbortSignal): Promise<readonly Target[]> {
  const places = [...pagesAndActs()].filter(({ text: name }) => isLike(name, text));
  if (text.length < 2) return places;
  const scope = { organizationId: organizationId.value };
  const [users, projects, applications] = await Promise.all([
    may("UserService/ListUsers", scope) ? findUsers(text, signal) : [],
    may("ProjectService/ListProjects", scope) ? findProjects(text, signal) : [],
    may("ApplicationService/ListApplications", scope) ? findApplications(text, signal) : [],
  ]);
  return [
    ...places,
    ...users.map((one) => ({ ...one, href: linkTo(["users", one.id]) })),
    ...projects.map((one) => ({ ...one, icon: <Icon name="projects" />, href: linkTo(["projects", one.id]) })),
    ...applications,
  ];
}

async function findApplications(text: string, signal: AbortSignal): Promise<readonly Target[]> {
  const options = { signal, organizationId: organizationId.value };
  const request = { filter: { search: text }, pageSize: 20 };
  const { applications = [] } = await call("ApplicationService/ListApplications", request, options);
  return applications.map(({ id = "", name = "", projectId = "", clientId }) => ({
    id,
    text: name,
    ...(clientId ? { more: clientId } : {}),
    icon: <Icon name="application" />,
    href: linkTo(["projects", projectId, "applications", id]),
  }));
}

/** Whether each word begins one of the name's. */
function isLike(name: string, text: string): boolean {
  const words = name.toLowerCase().split(/\s+/);
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((part) => words.some((word) => word.startsWith(part)));
}

function* pagesAndActs(): Generator<Target> {
  for (const page of pages)
    if (page.entry && isOffered(page))
      yield {
        id: page.path,
        text: t(page.entry.text),
        icon: <Icon name={page.entry.icon} />,
        href: linkTo(stepsOf(page.path)),
      };
  const acts = [
    { id: "create-user", text: shellTexts.createUser, needs: "UserService/CreateHumanUser", list: "users" },
    { id: "create-project", text: shellTexts.createProject, needs: "ProjectService/CreateProject", list: "projects" },
  ] as const;
  for (const { id, text, needs, list } of acts)
    if (may(needs)) yield { id, text: t(text), icon: <Icon name="plus" />, href: linkTo([list], { create: "new" }) };
}
