import type { DetailsJson } from "../../gen/postern/v1/details_pb.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import type { Submission } from "../parts/form.tsx";
import { policyTexts } from "../texts/policies.ts";
import { type Text, t } from "../texts/text.ts";

/** The owner of policies or branding: an organization, or the instance. */
export type Owner =
  | { readonly organizationId: string; readonly instance?: undefined }
  | { readonly instance: true; readonly organizationId?: undefined };

/** The parts of a response that say where the rules in force come from. */
export type Standing = { readonly isDefault?: boolean; readonly details?: DetailsJson };

/** The owner of the rules in force. */
export function ownerOf({ isDefault = false, details }: Standing, of: Owner): "own" | "inherited" | "builtIn" {
  if (!details) return "builtIn";
  return isDefault && of.organizationId ? "inherited" : "own";
}

/** Whether the rules are the organization's own, the instance's, or built in. */
export function Whose({ standing, of }: { readonly standing: Standing; readonly of: Owner }) {
  const owner = ownerOf(standing, of);
  return <Badge>{t(policyTexts[owner === "own" && !of.organizationId ? "changed" : owner])}</Badge>;
}

type BackProps = {
  readonly standing: Standing;
  readonly of: Owner;
  readonly to?: { readonly text: Text; readonly about: Text } | undefined;
  readonly reset: (key: string) => Promise<unknown>;
  readonly onDone: () => Promise<void>;
};

/** Resets the rules set here, so that the ones behind them are in force again. */
export function Back({ standing, of, to, reset, onDone }: BackProps) {
  if (ownerOf(standing, of) !== "own") return null;
  const { text, about } = to ?? (of.organizationId ? toInstance : toBuiltIn);
  const act = async ({ key }: Submission) => {
    await reset(key);
    await onDone();
  };
  return <Ask text={t(text)} about={t(about)} act={act} />;
}

const toInstance = { text: policyTexts.toInstance, about: policyTexts.toInstanceAbout };
const toBuiltIn = { text: policyTexts.toBuiltIn, about: policyTexts.toBuiltInAbout };
