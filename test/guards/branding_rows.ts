import type { Row } from "./matrix_rows.ts";

/** The rows of rpcs about branding. */
export const brandingRows: Readonly<Record<string, Row>> = {
  "OrganizationService.GetBranding": {
    needs: "org.read",
    decides: "organization",
    objectless: true,
    ownOrganization: true,
    request: () => ({}),
  },
  "OrganizationService.SetBranding": {
    needs: "org.write",
    decides: "organization",
    objectless: true,
    request: () => ({ branding: { accentColor: "#1a4fba" } }),
  },
  "OrganizationService.ResetBranding": {
    needs: "org.write",
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
};
