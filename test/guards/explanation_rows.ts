import type { Row } from "./matrix_rows.ts";

/** The rows of rpcs that explain. */
export const explanationRows: Readonly<Record<string, Row>> = {
  "ExplanationService.ExplainDecision": {
    needs: "authorization.evaluate",
    decides: "project",
    request: ({ userId, projectId, grant, organizationId }) => ({
      ...{ userId, projectId, roleKey: "viewer" },
      ...(grant.projectGrantId && { organizationId }),
    }),
  },
  "ExplanationService.ExplainSignIn": {
    needs: "app.read",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({ projectId: f.projectId, appId: await f.newApp(), userId: f.userId, scopes: ["openid"] }),
  },
};
