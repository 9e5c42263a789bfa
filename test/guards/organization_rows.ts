import { randomBytes } from "node:crypto";
import type { Row } from "./matrix_rows.ts";

const fresh = (what: string) => `${what} ${randomBytes(6).toString("hex")}`;

/** The rows of rpcs about organizations. */
export const organizationRows: Readonly<Record<string, Row>> = {
  "OrganizationService.CreateOrganization": {
    needs: "instance.write",
    decides: "instance",
    request: () => ({ name: fresh("org") }),
  },
  "OrganizationService.GetOrganization": {
    needs: "org.read",
    decides: "organization",
    ownPlace: true,
    request: ({ organizationId }) => ({ organizationId }),
  },
  "OrganizationService.GetOverview": {
    needs: "org.read",
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
  "OrganizationService.UpdateOrganization": {
    needs: "org.write",
    decides: "organization",
    ownPlace: true,
    request: ({ organizationId }) => ({ organizationId, organization: { name: fresh("org") } }),
  },
  "OrganizationService.GetOrganizationMetadata": {
    needs: "org.metadata.read",
    decides: "organization",
    ownPlace: true,
    request: ({ organizationId }) => ({ organizationId }),
  },
  "OrganizationService.SetOrganizationMetadata": {
    needs: "org.metadata.write",
    decides: "instance",
    request: async (f) => ({ organizationId: await f.newOrganization(), entries: [{ key: "plan", value: "gold" }] }),
  },
  "OrganizationService.ListOrganizations": { needs: "org.read", decides: "nobody", request: () => ({}) },
  "OrganizationService.DeactivateOrganization": {
    needs: "instance.write",
    decides: "instance",
    request: async (f) => ({ organizationId: await f.newOrganization() }),
  },
  "OrganizationService.DeleteOrganization": {
    needs: "instance.write",
    decides: "instance",
    freshSignIn: "or a token",
    request: async (f) => ({ organizationId: await f.newOrganization() }),
  },
  "OrganizationService.ReactivateOrganization": {
    needs: "instance.write",
    decides: "instance",
    request: async (f) => ({ organizationId: await f.newOrganization() }),
  },
};
