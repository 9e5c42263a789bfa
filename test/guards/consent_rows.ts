import type { Row } from "./matrix_rows.ts";

/** The rows of rpcs about the applications that users are connected to. */
export const consentRows: Readonly<Record<string, Row>> = {
  "ConsentService.ListConnectedApplications": {
    needs: "user.read",
    decides: "user",
    request: ({ userId }) => ({ userId }),
  },
  "ConsentService.DisconnectApplication": { needs: "user.write", decides: "user", request: (f) => f.newConnection() },
};
