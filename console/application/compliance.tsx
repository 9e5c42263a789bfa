import type { ComplianceProblemJson } from "../../gen/postern/v1/application_pb.ts";
import { Icon } from "../parts/icons.tsx";
import { applicationTexts } from "../texts/applications.ts";
import { t } from "../texts/text.ts";

/** Whether a configuration follows the rules, in the server's words. */
export function Compliance({ problems }: { readonly problems: readonly ComplianceProblemJson[] }) {
  const isGood = problems.length === 0;
  return (
    <div class={`compliance ${isGood ? "good" : "off"}`} role="status">
      <Icon name={isGood ? "check" : "warn"} />
      <div>
        <p>{t(isGood ? applicationTexts.compliant : applicationTexts.notCompliant)}</p>
        {!isGood && (
          <ul>
            {problems.map(({ key, localizedMessage }) => (
              <li key={`${key} ${localizedMessage}`}>{localizedMessage}</li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}
