import { useSignal } from "@preact/signals";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { useList } from "../calls/use_list.ts";
import { Button } from "../parts/button.tsx";
import type { Control } from "../parts/field.tsx";
import { Face } from "../parts/names.tsx";
import { Waiting } from "../parts/page.tsx";
import { type Choice, Picker } from "../parts/picker.tsx";
import { Search } from "../parts/search.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { nameOf } from "../users/user_name.ts";

const few = 20;

export async function findUsers(text: string, signal?: AbortSignal): Promise<readonly Choice[]> {
  const filter = text ? { filter: { search: text } } : {};
  const options = { signal, organizationId: organizationId.value };
  const { users = [] } = await call("UserService/ListUsers", { ...filter, pageSize: few }, options);
  return users.map((user) => ({
    id: user.id ?? "",
    text: nameOf(user),
    more: [user.username, user.human?.email].filter(Boolean).join(" · "),
    icon: <Face name={nameOf(user)} isMachine={user.machine !== undefined} />,
  }));
}

export async function findProjects(text: string, signal?: AbortSignal): Promise<readonly Choice[]> {
  const filter = text ? { filter: { search: text } } : {};
  const options = { signal, organizationId: organizationId.value };
  const request = { ...filter, includeGranted: true, pageSize: few };
  const { projects = [] } = await call("ProjectService/ListProjects", request, options);
  return projects.map(({ id = "", name = "" }) => ({ id, text: name, more: id }));
}

/** Picks a user of the organization. */
export function UserControl({ id, onChange, describedBy, isInvalid }: Control) {
  const about = { id, describedBy, isInvalid, placeholder: t(objectTexts.findUser) };
  return <Picker {...about} find={findUsers} onPick={(choice) => onChange(choice.id)} />;
}

/** Picks a project of the organization, or one that it was granted. */
export function ProjectControl({ id, onChange, describedBy, isInvalid }: Control) {
  const about = { id, describedBy, isInvalid, placeholder: t(objectTexts.findProject) };
  return <Picker {...about} find={findProjects} onPick={(choice) => onChange(choice.id)} />;
}

type RolesControlProps = Control & { readonly projectId: string };

/** Chooses roles of a project, of which there may be thousands. */
export function RolesControl({ id, value, onChange, projectId }: RolesControlProps) {
  const search = useSignal("");
  const filter = search.value ? { filter: { search: search.value } } : {};
  const list = useList("ProjectService/ListProjectRoles", { projectId, ...filter }, { rowsOf: ({ roles }) => roles });
  const chosen = typeof value === "object" ? value : [];
  const unseen = search.value ? [] : chosen.filter((key) => !list.rows.some((role) => role.key === key));
  const toggle = (key: string, isOn: boolean) =>
    onChange(isOn ? [...chosen, key] : chosen.filter((other) => other !== key));
  return (
    <fieldset id={id} class="roles-control" aria-label={t(objectTexts.roles)}>
      {(search.value || list.hasMore || list.rows.length > 8) && (
        <Search value={search} label={t(objectTexts.findRole)} />
      )}
      {list.refusal && <Trouble refusal={list.refusal} retry={list.reload} />}
      <div class="checks">
        {[...unseen.map((key) => ({ key, displayName: key })), ...list.rows].map(({ key = "", displayName }) => (
          <label key={key} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(key)}
              onChange={(event) => toggle(key, event.currentTarget.checked)}
            />
            <span>
              <b>{displayName || key}</b>
              {displayName && displayName !== key && <small>{key}</small>}
            </span>
          </label>
        ))}
        {list.hasMore && (
          <Button onClick={list.more} isBusy={list.isLoading}>
            {t(partTexts.more)}
          </Button>
        )}
      </div>
      {list.isLoading && list.rows.length === 0 && <Waiting />}
      {!list.isLoading && list.rows.length === 0 && !list.refusal && (
        <p class="quiet">{t(search.value ? partTexts.noMatch : objectTexts.noRolesYet)}</p>
      )}
    </fieldset>
  );
}
