import { randomBytes } from "node:crypto";
import type { Row } from "./matrix_rows.ts";

/** The rows of API applications. */
export const apiApplicationRows: Readonly<Record<string, Row>> = {
  "ApplicationService.CreateApiApplication": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: ({ projectId }) => ({ projectId, name: `api ${randomBytes(6).toString("hex")}` }),
  },
  "ApplicationService.UpdateApiApplication": {
    needs: "app.write",
    decides: "organization",
    reaches: "project",
    request: async (f) => ({
      projectId: f.projectId,
      appId: await f.newApi(),
      application: { authMethodType: "API_AUTH_METHOD_TYPE_POST" },
    }),
  },
};
