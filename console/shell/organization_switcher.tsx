import { useSignal } from "@preact/signals";
import { useLocation } from "preact-iso";
import type { OrganizationJson } from "../../gen/postern/v1/organization_pb.ts";
import { organizationId } from "../calls/organization.ts";
import { useCall } from "../calls/use_call.ts";
import { linkTo } from "../links.ts";
import { Badge, StateBadge } from "../parts/badge.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icons.tsx";
import { Waiting } from "../parts/page.tsx";
import { Search } from "../parts/search.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { isOfTheInstance, me } from "../sign_in/me.ts";
import { partTexts } from "../texts/parts.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";

/** The organization that the console works in, and the switch for users with roles in several. */
export function OrganizationSwitcher() {
  const isOpen = useSignal(false);
  const own = me.value?.organization;
  const id = organizationId.value ?? "";
  const found = useCall("OrganizationService/GetOrganization", id === own?.id ? undefined : { organizationId: id });
  const name = id === own?.id ? own?.name : (found.data?.organization?.name ?? id);
  const hasOthers = isOfTheInstance.value || (me.value?.roles ?? []).some((role) => role.organizationId !== own?.id);
  if (!hasOthers && id === own?.id)
    return (
      <p class="switcher">
        <Icon name="organizations" />
        <span>{name}</span>
      </p>
    );
  return (
    <>
      <button
        type="button"
        class="switcher"
        onClick={() => (isOpen.value = true)}
        title={t(shellTexts.changeOrganization)}
      >
        <Icon name="organizations" />
        <span>
          <span class="said">{t(shellTexts.organization)}: </span>
          {name}
        </span>
        <Icon name="down" />
      </button>
      {isOpen.value && <Choice onClose={() => (isOpen.value = false)} />}
    </>
  );
}

function Choice({ onClose }: { readonly onClose: () => void }) {
  const search = useSignal("");
  const list = useCall("OrganizationService/ListOrganizations", { filter: { search: search.value }, pageSize: 50 });
  const { path } = useLocation();
  // An object belongs to one organization; lists exist in each.
  const section = path.split("/").filter(Boolean).slice(1);
  const found = withOthers(list.data?.organizations ?? [], search.value);
  return (
    <Dialog title={t(shellTexts.changeOrganization)} onClose={onClose}>
      <Search value={search} label={t(shellTexts.findOrganization)} isFirst />
      {list.refusal && <Trouble refusal={list.refusal} retry={list.reload} />}
      {!list.data && list.isLoading && <Waiting />}
      <ul class="choices">
        {found.map((organization) => (
          <li key={organization.id}>
            <a
              href={linkTo(section.length === 1 ? section : [], { org: organization.id })}
              aria-current={organization.id === organizationId.value ? "true" : undefined}
              onClick={onClose}
            >
              <b>{organization.name}</b>
              {organization.id === me.value?.organization?.id && <Badge>{t(shellTexts.yours)}</Badge>}
              {organization.state === "ORGANIZATION_STATE_INACTIVE" && <StateBadge state={organization.state} />}
            </a>
          </li>
        ))}
      </ul>
      {list.data && found.length === 0 && <p class="quiet">{t(partTexts.noMatch)}</p>}
    </Dialog>
  );
}

/** A role on a project gives access to an organization, but not to its name. */
function withOthers(listed: readonly OrganizationJson[], search: string): readonly OrganizationJson[] {
  if (search) return listed;
  const ids = (me.value?.roles ?? []).flatMap((role) => role.organizationId ?? []);
  const others = [...new Set(ids)].filter((id) => !listed.some((one) => one.id === id));
  return [...listed, ...others.map((id) => ({ id, name: id }))];
}
