import type { AdministrativeRoleJson, MemberJson } from "../../gen/postern/v1/member_pb.ts";
import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { useCall } from "../calls/use_call.ts";
import { useList } from "../calls/use_list.ts";
import { Ask } from "../parts/ask.tsx";
import type { Version } from "../parts/conflict.tsx";
import { EditDialog } from "../parts/edit_dialog.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import type { Submission } from "../parts/form.tsx";
import { List } from "../parts/list.tsx";
import { Menu } from "../parts/menu.tsx";
import { Who } from "../parts/names.tsx";
import { Card, Empty } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { say } from "../parts/toasts.tsx";
import type { Save } from "../parts/version_form.tsx";
import { may, type Scope } from "../sign_in/me.ts";
import { objectTexts } from "../texts/objects.ts";
import { partTexts } from "../texts/parts.ts";
import { t } from "../texts/text.ts";
import { Roles } from "./roles.tsx";
import { userField, userOf } from "./user_field.tsx";

/** The scope of a membership, as the calls name it. */
type About = {
  readonly instance?: boolean;
  readonly organizationId?: string;
  readonly projectId?: string;
  readonly projectGrantId?: string;
};

const scopeNames = {
  instance: "INSTANCE",
  organization: "ORGANIZATION",
  project: "PROJECT",
  grant: "PROJECT_GRANT",
} as const;

/** The administrators of a scope, and the permissions of each of their roles. */
export function Members({ of }: { readonly of: About }) {
  const members = useList("MemberService/ListMembers", of, { rowsOf: ({ members }) => members });
  const roles = useCall("MemberService/ListRoles", {});
  const offered = (roles.data?.roles ?? []).filter(({ scope }) => scope === `ROLE_SCOPE_${scopeOf(of)}`);
  const mayWrite = may("MemberService/AddMember", of as Scope);
  const add = async ({ draft, key }: Submission) => {
    const request = { ...of, userId: await userOf(draft, of), roles: rolesOf(draft) };
    const { invitationId } = await call("MemberService/AddMember", request, {
      key,
      organizationId: organizationId.value,
    });
    say(t(invitationId ? objectTexts.invited : objectTexts.memberAdded));
    await members.reload();
  };
  return (
    <Card
      class="flush"
      title={t(objectTexts.members)}
      about={t(objectTexts.membersAbout)}
      actions={
        mayWrite && (
          <Ask
            text={t(objectTexts.addMember)}
            icon="plus"
            kind="main"
            id="add-member"
            fields={[userField(), rolesField(offered)]}
            values={{ userId: "", loginName: "", roles: [] }}
            act={add}
          />
        )
      }
    >
      <List
        of={members}
        label={t(objectTexts.members)}
        keyOf={({ userId = "" }) => userId}
        columns={[
          { title: t(objectTexts.user), cell: ({ userId = "" }) => <Who id={userId} /> },
          { title: t(objectTexts.roles), cell: ({ roles = [] }) => <Roles keys={roles} /> },
          {
            title: t(objectTexts.since),
            cell: ({ details }) => details?.creationDate && <Time at={details.creationDate} />,
            isMinor: true,
          },
          {
            title: t(partTexts.acts),
            cell: (member) => mayWrite && <Acts member={member} of={of} offered={offered} onDone={members.reload} />,
            isActs: true,
          },
        ]}
        empty={<Empty>{t(objectTexts.noMembers)}</Empty>}
      />
    </Card>
  );
}

function scopeOf(of: About): string {
  if (of.instance) return scopeNames.instance;
  if (of.projectGrantId) return scopeNames.grant;
  return of.projectId ? scopeNames.project : scopeNames.organization;
}

type ActsProps = {
  readonly member: MemberJson;
  readonly of: About;
  readonly offered: readonly AdministrativeRoleJson[];
  readonly onDone: () => Promise<void>;
};

function Acts({ member, of, offered, onDone }: ActsProps) {
  const userId = member.userId ?? "";
  const options = { organizationId: organizationId.value };
  const read = async () => {
    const { members = [] } = await call("MemberService/ListMembers", { ...of, filter: { userId } }, options);
    return versionOf(members[0] ?? {});
  };
  const save = ({ draft, expectedSequence, key }: Save) =>
    call("MemberService/ChangeMember", { ...of, userId, roles: rolesOf(draft), expectedSequence }, { ...options, key });
  const remove = async ({ key }: Submission) => {
    await call("MemberService/RemoveMember", { ...of, userId }, { ...options, key });
    await onDone();
  };
  return (
    <Menu>
      <EditDialog
        title={t(objectTexts.changeRoles)}
        fields={[rolesField(offered)]}
        version={versionOf(member)}
        read={read}
        save={save}
        onSaved={onDone}
      />
      <Ask text={t(objectTexts.remove)} kind="danger" about={t(objectTexts.removeMember)} act={remove} />
    </Menu>
  );
}

const versionOf = ({ roles = [], details }: MemberJson): Version => ({
  values: { roles },
  sequence: details?.sequence ?? "0",
});

const rolesOf = ({ roles }: Draft): string[] => (typeof roles === "object" ? [...roles] : []);

function rolesField(offered: readonly AdministrativeRoleJson[]): Field {
  const options = offered.map(({ role = "", permissions = [] }) => ({
    value: role,
    label: role,
    help: permissions.join(", "),
  }));
  return { name: "roles", label: t(objectTexts.roles), kind: "checks", options };
}
