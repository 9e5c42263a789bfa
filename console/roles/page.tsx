import { useSignal } from "@preact/signals";
import type { AdministrativeRoleJson, MemberJson } from "../../gen/postern/v1/member_pb.ts";
import { organizationId } from "../calls/organization.ts";
import { useCall } from "../calls/use_call.ts";
import { findProjects } from "../objects/pickers.tsx";
import { Icon } from "../parts/icons.tsx";
import { Named } from "../parts/names.tsx";
import { Card, PageHeader, Read } from "../parts/page.tsx";
import { Picker } from "../parts/picker.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { may } from "../sign_in/me.ts";
import { objectTexts } from "../texts/objects.ts";
import { roleTexts } from "../texts/roles.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";

const scopes = ["ORGANIZATION", "PROJECT", "INSTANCE"] as const;
type Scope = (typeof scopes)[number];

/** The matrix of roles and permissions, with the holders of the roles in the scope. */
export default function RolesPage() {
  const scope = useSignal<Scope>("ORGANIZATION");
  const project = useSignal<string | undefined>(undefined);
  const roles = useCall("MemberService/ListRoles", {});
  const about = aboutOf(scope.value, project.value);
  const members = useCall(
    "MemberService/ListMembers",
    about && may("MemberService/ListMembers", about) ? about : undefined,
  );
  return (
    <>
      <PageHeader title={t(shellTexts.roles)} below={t(roleTexts.about)} />
      <Card class="flush">
        <div class="filters">
          <fieldset class="segments" aria-label={t(roleTexts.scope)}>
            {scopes.map((one) => (
              <button key={one} type="button" aria-pressed={scope.value === one} onClick={() => (scope.value = one)}>
                {t(roleTexts[one])}
              </button>
            ))}
          </fieldset>
          {scope.value === "PROJECT" && (
            <Picker
              id="roles-project"
              label={t(roleTexts.chooseProject)}
              placeholder={t(objectTexts.findProject)}
              find={findProjects}
              onPick={({ id }) => (project.value = id)}
            />
          )}
        </div>
        {members.refusal && <Trouble refusal={members.refusal} retry={members.reload} />}
        <Read of={roles}>
          {({ roles: all = [] }) => (
            <Matrix
              roles={all.filter((role) => role.scope === `ROLE_SCOPE_${scope.value}`)}
              members={about ? members.data?.members : undefined}
              hasMore={Boolean(members.data?.nextPageToken)}
            />
          )}
        </Read>
      </Card>
    </>
  );
}

function aboutOf(scope: Scope, projectId: string | undefined) {
  if (scope === "INSTANCE") return { instance: true };
  if (scope === "PROJECT") return projectId ? { projectId } : undefined;
  return { organizationId: organizationId.value ?? "" };
}

type MatrixProps = {
  readonly roles: readonly AdministrativeRoleJson[];
  /** Absent if the members were not requested, or the user may not see them. */
  readonly members: readonly MemberJson[] | undefined;
  readonly hasMore: boolean;
};

function Matrix({ roles, members, hasMore }: MatrixProps) {
  const permissions = [...new Set(roles.flatMap((role) => role.permissions ?? []))].sort();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="matrix" tabIndex={0} aria-label={t(shellTexts.roles)}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t(roleTexts.permission)}</th>
            {roles.map(({ role }) => (
              <th key={role} scope="col">
                <code>{role}</code>
              </th>
            ))}
          </tr>
          {members && (
            <tr class="holders">
              <th scope="row">{t(roleTexts.holders)}</th>
              {roles.map(({ role = "" }) => (
                <td key={role}>
                  <Holders of={members.filter((member) => member.roles?.includes(role))} hasMore={hasMore} />
                </td>
              ))}
            </tr>
          )}
        </thead>
        <tbody>
          {permissions.map((permission) => (
            <tr key={permission}>
              <th scope="row">
                <code>{permission}</code>
              </th>
              {roles.map(({ role, permissions: given = [] }) => (
                <td key={role}>{given.includes(permission) ? <Given /> : <span class="quiet">·</span>}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const Given = () => (
  <span class="given">
    <Icon name="check" />
    <span class="said">{t(roleTexts.given)}</span>
  </span>
);

const fewest = 5;

function Holders({ of, hasMore }: { readonly of: readonly MemberJson[]; readonly hasMore: boolean }) {
  if (of.length === 0) return <span class="quiet">{t(roleTexts.noHolders)}</span>;
  return (
    <ul class="lines">
      {of.slice(0, fewest).map(({ userId = "" }) => (
        <li key={userId}>
          <Named id={userId} kind="user" />
        </li>
      ))}
      {(of.length > fewest || hasMore) && <li class="quiet">{t(roleTexts.more)}</li>}
    </ul>
  );
}
