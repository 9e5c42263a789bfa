import type { ExplainedObjectJson } from "../../gen/postern/v1/explanation_pb.ts";
import { linkTo } from "../links.ts";
import { t } from "../texts/text.ts";
import { whyTexts } from "../texts/why.ts";

type ChangeLinkProps = { readonly object: ExplainedObjectJson | undefined; readonly projectId: string };

/** The page on which the reason can be changed, if the console has one. */
export function ChangeLink({ object, projectId }: ChangeLinkProps) {
  const href = object && hrefOf(object, projectId);
  return href ? (
    <a class="button plain" href={href}>
      {t(whyTexts.change)}
    </a>
  ) : null;
}

function hrefOf({ kind, id = "", organizationId }: ExplainedObjectJson, projectId: string): string | undefined {
  const inside = { org: organizationId };
  switch (kind) {
    case "EXPLAINED_KIND_APPLICATION":
      return linkTo(["projects", projectId, "applications", id], inside);
    case "EXPLAINED_KIND_PROJECT":
      return linkTo(["projects", id, "settings"], inside);
    case "EXPLAINED_KIND_ORGANIZATION":
      return linkTo(["organizations", id], { org: id });
    case "EXPLAINED_KIND_USER":
      return linkTo(["users", id], inside);
    case "EXPLAINED_KIND_USER_GRANT":
      return linkTo(["projects", projectId, "grants"], inside);
    case "EXPLAINED_KIND_PROJECT_GRANT":
      return linkTo(["projects", projectId, "organizations"], inside);
    case "EXPLAINED_KIND_PASSWORD_POLICY":
    case "EXPLAINED_KIND_FACTOR_POLICY":
      return linkTo(["organizations", id, "policies"], inside);
    default:
      return undefined;
  }
}
