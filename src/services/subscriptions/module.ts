import type { Deps } from "../../deps.ts";
import { handlers } from "../module.ts";
import { subscriptionDeliveries, subscriptionHandlers, subscriptionRules } from "./subscription.ts";
import { subscriptionFolds } from "./subscription_fold.ts";
import { resealedSubscriptions } from "./subscription_secret.ts";

type Parts = { readonly deps: Deps };

export const subscriptions = {
  serves: {
    SubscriptionService: ({ deps }: Parts) => handlers(subscriptionHandlers(deps), subscriptionDeliveries(deps)),
  },
  folds: { subscription: subscriptionFolds },
  rules: () => subscriptionRules,
  chores: ({ deps }: Parts) => [resealedSubscriptions(deps)],
};
