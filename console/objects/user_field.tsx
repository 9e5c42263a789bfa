import { call } from "../calls/client.ts";
import { organizationId } from "../calls/organization.ts";
import type { Draft, Field } from "../parts/field.tsx";
import { may } from "../sign_in/me.ts";
import { objectTexts } from "../texts/objects.ts";
import { t } from "../texts/text.ts";
import { UserControl } from "./pickers.tsx";

/** The field that names a user. Administrators who may not see the users enter the whole login name. */
export function userField(): Field {
  return may("UserService/ListUsers")
    ? { name: "userId", label: t(objectTexts.user), control: UserControl }
    : { name: "loginName", label: t(objectTexts.loginName), help: t(objectTexts.loginNameAbout) };
}

type About = { readonly projectId?: string | undefined; readonly projectGrantId?: string | undefined };

/** The user that the field names, for roles on a project or a project grant. */
export async function userOf({ loginName, userId }: Draft, { projectId, projectGrantId }: About): Promise<string> {
  if (typeof loginName !== "string" || !loginName) return String(userId);
  const about = { loginName, ...(projectId ? { projectId } : {}), ...(projectGrantId ? { projectGrantId } : {}) };
  const { user } = await call("UserService/FindUser", about, { organizationId: organizationId.value });
  return user?.id ?? "";
}
