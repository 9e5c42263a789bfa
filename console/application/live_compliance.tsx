import type { ComplianceProblemJson } from "../../gen/postern/v1/application_pb.ts";
import { type LiveQuestion, useLive } from "../calls/use_live.ts";
import { applicationTexts } from "../texts/applications.ts";
import { t } from "../texts/text.ts";
import { Compliance } from "./compliance.tsx";

/** A call that only validates, and returns the problems that there would be. */
export type ComplianceQuestion = LiveQuestion<{ readonly complianceProblems?: ComplianceProblemJson[] }>;

/** The server's verdict on a configuration while it is written; nothing while there is too little to judge. */
export function LiveCompliance({ of }: { readonly of: ComplianceQuestion | undefined }) {
  const found = useLive(of);
  if (!found?.isOfNow) return null;
  return (
    <div class="live-compliance">
      <Compliance problems={found.value.complianceProblems ?? []} />
      <p class="help">{t(applicationTexts.checkedWhileTyping)}</p>
    </div>
  );
}
