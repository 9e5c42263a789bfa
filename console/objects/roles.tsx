import type { UserGrantJson } from "../../gen/postern/v1/user_grant_pb.ts";
import { Badge } from "../parts/badge.tsx";
import type { Version } from "../parts/conflict.tsx";
import type { Draft, Field } from "../parts/field.tsx";
import { objectTexts } from "../texts/objects.ts";
import { t } from "../texts/text.ts";
import { RolesControl } from "./pickers.tsx";

export function Roles({ keys }: { readonly keys: readonly string[] }) {
  return (
    <div class="badges">
      {keys.map((key) => (
        <Badge key={key}>{key}</Badge>
      ))}
    </div>
  );
}

/** The roles that a grant gives, at its version. */
export const rolesAt = ({ roleKeys = [], details }: Pick<UserGrantJson, "roleKeys" | "details">): Version => ({
  values: { roleKeys },
  sequence: details?.sequence ?? "0",
});

export const keysOf = ({ roleKeys }: Draft): string[] => (typeof roleKeys === "object" ? [...roleKeys] : []);

/** The field for roles of a project. */
export const rolesField = (projectId: string): Field => ({
  name: "roleKeys",
  label: t(objectTexts.roles),
  control: (control) => <RolesControl {...control} projectId={projectId} />,
});
