import type { ServiceImpl } from "@connectrpc/connect";
import type { ExplanationService } from "../../../gen/postern/v1/explanation_pb.ts";
import type { Deps } from "../../deps.ts";
import { decisionExplanations } from "../../services/decisions/explain_decision.ts";
import { handlers } from "../../services/module.ts";
import { type ExplanationSettings, signInExplanations } from "./explain_sign_in.ts";

/** Explains sign-ins and decisions. */
export const explanationService = (deps: Pick<Deps, "sql" | "clock">, settings: ExplanationSettings) =>
  handlers(signInExplanations(deps, settings), decisionExplanations(deps)) satisfies ServiceImpl<
    typeof ExplanationService
  >;
