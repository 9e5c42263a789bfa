import type { Fixture } from "../fixture/organization.ts";
import type { Row } from "./matrix_rows.ts";

const url = "https://receiver.example/events";
const own = async ({ newSubscription }: Fixture) => ({ subscriptionId: await newSubscription() });

const read = { needs: "subscription.read", decides: "organization" } as const;
const write = { needs: "subscription.write", decides: "organization" } as const;

/** The rows of rpcs about subscriptions to events. */
export const subscriptionRows: Readonly<Record<string, Row>> = {
  // Each allowed one stays, and an organization has at most a hundred.
  "SubscriptionService.CreateSubscription": {
    ...{ ...write, objectless: true },
    request: () => ({ url, types: ["organization.purged"] }),
  },
  "SubscriptionService.GetSubscription": { ...read, request: own },
  "SubscriptionService.ListSubscriptions": { ...read, objectless: true, request: () => ({}) },
  "SubscriptionService.UpdateSubscription": {
    ...write,
    request: async (f) => ({ ...(await own(f)), subscription: { url: `${url}/2` } }),
  },
  "SubscriptionService.PauseSubscription": { ...write, request: own },
  "SubscriptionService.ResumeSubscription": { ...write, request: own },
  "SubscriptionService.ReplaySubscription": {
    ...write,
    request: async (f) => ({ ...(await own(f)), after: "0" }),
  },
  "SubscriptionService.RotateSubscriptionSecret": { ...write, request: own },
  "SubscriptionService.DeleteSubscription": { ...write, request: own },
};
