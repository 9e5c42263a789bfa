import { useCall } from "../calls/use_call.ts";
import { Badge } from "../parts/badge.tsx";
import { Icon } from "../parts/icons.tsx";
import { Named } from "../parts/names.tsx";
import { Card, Empty, Read } from "../parts/page.tsx";
import { objectTexts } from "../texts/objects.ts";
import { t } from "../texts/text.ts";
import { whyTexts } from "../texts/why.ts";
import { problemTexts } from "../texts/why_reasons.ts";
import { ChangeLink } from "./change_link.tsx";
import type { Question } from "./question.ts";
import { textFor } from "./text_for.ts";

/** Explains why Evaluate answers yes or no, and which grants count. */
export function DecisionAnswer({ question: { user, project, role } }: { readonly question: Question }) {
  const isAsked = Boolean(user && project && role);
  const request = { userId: user, projectId: project, roleKey: role };
  const reading = useCall("ExplanationService/ExplainDecision", isAsked ? request : undefined);
  if (!isAsked) return <Empty>{t(whyTexts.askRole)}</Empty>;
  return (
    <Read of={reading}>
      {({ decision, reason, grants = [] }) => (
        <div class="cards answer">
          <section class={`verdict ${decision ? "good" : "bad"}`} role="status">
            <Icon name={decision ? "check" : "close"} />
            <div>
              <h2>{t(decision ? whyTexts.permitted : whyTexts.denied)}</h2>
              {!decision && <p>{textFor(problemTexts, reason, "DENIAL_REASON_")}</p>}
            </div>
          </section>
          <Card class="flush" title={t(whyTexts.grants)}>
            {grants.length === 0 ? (
              <Empty>{t(whyTexts.noGrants)}</Empty>
            ) : (
              <ul class="steps">
                {grants.map((grant) => {
                  const wrong = textFor(problemTexts, grant.reason, "DENIAL_REASON_");
                  return (
                    <li key={grant.userGrantId}>
                      <div>
                        {t(whyTexts.by)} <Named id={grant.organizationId ?? ""} kind="organization" />
                      </div>
                      <Badge tone={wrong ? "bad" : "good"}>{wrong || t(objectTexts.inEffect)}</Badge>
                      {wrong && <ChangeLink object={grant.object} projectId={project} />}
                    </li>
                  );
                })}
              </ul>
            )}
          </Card>
        </div>
      )}
    </Read>
  );
}
