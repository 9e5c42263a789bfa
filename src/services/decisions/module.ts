import type { Deps } from "../../deps.ts";
import { authorizationRules, authorizationService } from "./authorization.ts";
import { decisionExplanations } from "./explain_decision.ts";

type Parts = { readonly deps: Deps };
type Settings = Parameters<typeof authorizationService>[1];

/** Decisions for other programs, by AuthZEN. */
export const decisions = {
  serves: {
    AuthorizationService: ({ deps }: Parts, settings: Settings) => authorizationService(deps, settings),
    ExplanationService: ({ deps }: Parts) => decisionExplanations(deps),
  },
  rules: () => authorizationRules,
};
