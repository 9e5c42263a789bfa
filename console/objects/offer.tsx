import type {
  OfferedGrantJson,
  OfferedMembershipJson,
  OfferedProjectGrantJson,
} from "../../gen/postern/v1/invitation_pb.ts";
import { Named } from "../parts/names.tsx";
import { invitationTexts } from "../texts/invitations.ts";
import { t } from "../texts/text.ts";
import { Roles } from "./roles.tsx";

type OfferProps = {
  readonly memberships?: readonly OfferedMembershipJson[];
  readonly grants?: readonly OfferedGrantJson[];
  readonly projectGrant?: OfferedProjectGrantJson | undefined;
};

/** The roles that an invitation gives. */
export function Offer({ memberships = [], grants = [], projectGrant }: OfferProps) {
  if (memberships.length + grants.length === 0 && !projectGrant) return <>{t(invitationTexts.account)}</>;
  return (
    <ul class="lines">
      {[...memberships, ...grants, ...(projectGrant ? [projectGrant] : [])].map((one) => (
        <li key={JSON.stringify(one)}>
          {one === projectGrant && <span>{t(invitationTexts.projectGrant)} </span>}
          {one.projectId && <Named id={one.projectId} kind="project" />}
          <Roles keys={"roles" in one ? (one.roles ?? []) : "roleKeys" in one ? (one.roleKeys ?? []) : []} />
        </li>
      ))}
    </ul>
  );
}
