import type { OrganizationJson } from "../../gen/postern/v1/organization_pb.ts";
import { call } from "../calls/client.ts";
import { useCall } from "../calls/use_call.ts";
import { Metadata } from "../objects/metadata.tsx";
import { may } from "../sign_in/me.ts";

type OrganizationMetadataProps = { readonly organization: OrganizationJson; readonly onChanged: () => Promise<void> };

/** The metadata of an organization, which only owners of the instance write. */
export function OrganizationMetadata({ organization, onChanged }: OrganizationMetadataProps) {
  const organizationId = organization.id ?? "";
  const about = { organizationId };
  const reading = useCall("OrganizationService/GetOrganizationMetadata", about, about);
  const read = async () => {
    const [{ entries = [] }, { organization: now }] = await Promise.all([
      call("OrganizationService/GetOrganizationMetadata", about, about),
      call("OrganizationService/GetOrganization", about, about),
    ]);
    return { value: entries, sequence: now?.details?.sequence ?? "0" };
  };
  return (
    <Metadata
      reading={reading}
      sequence={organization.details?.sequence ?? "0"}
      read={read}
      write={(request, key) => call("OrganizationService/SetOrganizationMetadata", { ...about, ...request }, { key })}
      mayWrite={may("OrganizationService/SetOrganizationMetadata", { instance: true })}
      onChanged={onChanged}
    />
  );
}
