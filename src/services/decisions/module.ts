import { AuthorizationService } from "../../../gen/postern/v1/authorization_pb.ts";
import type { Deps } from "../../deps.ts";
import { serving } from "../module.ts";
import { authorizationRules, authorizationService } from "./authorization.ts";

type Parts = { readonly deps: Deps };
type Settings = Parameters<typeof authorizationService>[1];

/** Decisions for other programs, by AuthZEN. */
export const decisions = {
  serves: [
    serving(AuthorizationService, ({ deps }: Parts, settings: Settings) => authorizationService(deps, settings)),
  ],
  rules: () => authorizationRules,
};
