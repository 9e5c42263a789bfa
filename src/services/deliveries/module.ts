import type { Deps } from "../../deps.ts";
import { deliveryRules, deliveryService } from "./delivery.ts";
import { deliveryFolds } from "./delivery_fold.ts";

type Parts = { readonly deps: Deps };

export const deliveries = {
  serves: { DeliveryService: ({ deps }: Parts) => deliveryService(deps) },
  folds: { delivery: deliveryFolds },
  rules: () => deliveryRules,
};
