import { DeliveryService } from "../../../gen/postern/v1/delivery_pb.ts";
import type { Deps } from "../../deps.ts";
import { serving } from "../module.ts";
import { deliveryRules, deliveryService } from "./delivery.ts";
import { deliveryFolds } from "./delivery_fold.ts";

type Parts = { readonly deps: Deps };

export const deliveries = {
  serves: [serving(DeliveryService, ({ deps }: Parts) => deliveryService(deps))],
  folds: { delivery: deliveryFolds },
  rules: () => deliveryRules,
};
