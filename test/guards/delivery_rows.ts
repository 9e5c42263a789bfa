import type { Row } from "./matrix_rows.ts";

/** The rows of rpcs about deliveries that were given up; that of a mail is the user's. */
export const deliveryRows: Readonly<Record<string, Row>> = {
  "DeliveryService.ListDeliveries": {
    needs: "user.read",
    instead: ["app.read"],
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
  "DeliveryService.RetryDelivery": {
    needs: "user.write",
    instead: ["app.write"],
    decides: "organization",
    request: async ({ newDelivery }) => ({ deliveryId: await newDelivery() }),
  },
};
