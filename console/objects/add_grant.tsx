import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import { Ask } from "../parts/ask.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import type { Submission } from "../parts/form.tsx";
import { say } from "../parts/toasts.tsx";
import { objectTexts } from "../texts/objects.ts";
import { t } from "../texts/text.ts";
import { ProjectControl } from "./pickers.tsx";
import { keysOf, rolesField } from "./roles.tsx";
import { userField, userOf } from "./user_field.tsx";

type AddGrantProps = {
  readonly userId?: string;
  readonly projectId?: string;
  readonly onAdded: () => Promise<void>;
  readonly isOpen?: boolean;
};

/** Gives a user roles in a project; either the user or the project is known. */
export function AddGrant({ userId, projectId, onAdded, isOpen }: AddGrantProps) {
  const act = async ({ draft, key }: Submission) => {
    const about = {
      userId: userId ?? (await userOf(draft, { projectId })),
      projectId: projectId ?? textOf(draft.projectId),
    };
    const projectGrantId = await grantOf(about.projectId);
    const expirationDate = dateOf(draft.expirationDate);
    const request = {
      ...about,
      roleKeys: keysOf(draft),
      ...(projectGrantId ? { projectGrantId } : {}),
      ...(expirationDate ? { expirationDate } : {}),
    };
    const { invitationId } = await call("UserGrantService/AddUserGrant", request, {
      key,
      organizationId: organizationId.value,
    });
    say(t(invitationId ? objectTexts.invited : objectTexts.grantAdded));
    await onAdded();
  };
  return (
    <Ask
      text={t(objectTexts.addGrant)}
      icon="plus"
      kind="main"
      id="add-grant"
      isOpenAtFirst={isOpen}
      fields={(draft) => fieldsFor({ userId, projectId }, draft)}
      values={{ userId: "", projectId: "", loginName: "", roleKeys: [], expirationDate: "" }}
      act={act}
    />
  );
}

const textOf = (value: Draft[string] | undefined): string => (typeof value === "string" ? value : "");

/** A date without a time means the end of that day, in the administrator's time zone. */
function dateOf(value: Draft[string] | undefined): string | undefined {
  return value ? new Date(`${textOf(value)}T23:59:59`).toISOString() : undefined;
}

type About = { readonly userId: string | undefined; readonly projectId: string | undefined };

function fieldsFor({ userId, projectId }: About, draft: Draft): readonly Field[] {
  const project = projectId ?? textOf(draft.projectId);
  return [
    ...(userId ? [] : [userField()]),
    ...(projectId ? [] : [{ name: "projectId", label: t(objectTexts.project), control: ProjectControl }]),
    ...(project ? [{ ...rolesField(project), name: "roleKeys" }] : []),
    {
      name: "expirationDate",
      label: t(objectTexts.ends),
      kind: "date",
      isOptional: true,
      help: t(objectTexts.endsAbout),
    },
  ];
}

/** The grant through which the organization has a project of another. */
async function grantOf(projectId: string): Promise<string | undefined> {
  if (!projectId) return undefined;
  const options = { organizationId: organizationId.value };
  const { project } = await call("ProjectService/GetProject", { projectId }, options);
  if (project?.details?.resourceOwner === organizationId.value) return undefined;
  const { projectGrants = [] } = await call("ProjectService/ListProjectGrants", { projectId, pageSize: 1 }, options);
  return projectGrants[0]?.id;
}
