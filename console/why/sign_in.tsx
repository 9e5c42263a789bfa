import { useSignal } from "@preact/signals";
import type {
  ExplainedClaimJson,
  ExplainedGrantJson,
  ExplainSignInResponseJson,
  SignInStepJson,
} from "../../gen/postern/v1/explanation_pb.ts";
import { useCall } from "../calls/use_call.ts";
import { Roles } from "../objects/roles.tsx";
import { Badge } from "../parts/badge.tsx";
import { Icon, type IconName } from "../parts/icons.tsx";
import { Named } from "../parts/names.tsx";
import { Card, Empty, Read } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { objectTexts } from "../texts/objects.ts";
import { t } from "../texts/text.ts";
import { whyTexts } from "../texts/why.ts";
import { checkTexts, originTexts, outcomeTexts, problemTexts, reasonTexts } from "../texts/why_reasons.ts";
import { ChangeLink } from "./change_link.tsx";
import type { Question } from "./question.ts";
import { textFor } from "./text_for.ts";

/** Explains why the user may or may not sign in: each check, the grants behind it, and the claims that the application would get. */
export function SignInAnswer({ question: { user, project, app, scopes } }: { readonly question: Question }) {
  const isAsked = Boolean(user && project && app);
  const request = { userId: user, projectId: project, appId: app, scopes: scopes.split(/\s+/).filter(Boolean) };
  const reading = useCall("ExplanationService/ExplainSignIn", isAsked ? request : undefined);
  if (!isAsked) return <Empty>{t(whyTexts.ask)}</Empty>;
  return (
    <Read of={reading}>
      {(answer) => (
        <div class="cards answer">
          <Verdict of={answer} />
          <Steps steps={answer.steps ?? []} projectId={project} />
          <Grants grants={answer.grants ?? []} projectId={project} />
          {!answer.limited && <Claims of={answer} />}
        </div>
      )}
    </Read>
  );
}

function Verdict({ of: { maySignIn, acr, limited } }: { readonly of: ExplainSignInResponseJson }) {
  const text = maySignIn === undefined ? whyTexts.unknown : maySignIn ? whyTexts.may : whyTexts.mayNot;
  const tone = maySignIn === undefined ? "" : maySignIn ? "good" : "bad";
  return (
    <section class={`verdict ${tone}`} role="status">
      <Icon name={maySignIn ? "check" : maySignIn === undefined ? "why" : "close"} />
      <div>
        <h2>{t(text)}</h2>
        {limited && <p>{t(whyTexts.limited)}</p>}
        {acr && (
          <p>
            {t(whyTexts.acr)}: <code>{acr}</code>
          </p>
        )}
      </div>
    </section>
  );
}

const icons: Readonly<Record<string, IconName>> = { PASSED: "check", ASKED: "user", REFUSED: "close", UNKNOWN: "why" };

function Steps({ steps, projectId }: { readonly steps: readonly SignInStepJson[]; readonly projectId: string }) {
  return (
    <Card class="flush" title={t(whyTexts.steps)}>
      <ol class="steps">
        {steps.map(({ check, outcome = "", reason, object, until }) => {
          const result = outcome.replace("SIGN_IN_OUTCOME_", "");
          return (
            <li key={check} class={result.toLowerCase()}>
              <span class="outcome" title={textFor(outcomeTexts, result, "")}>
                <Icon name={icons[result] ?? "why"} />
                <span class="said">{textFor(outcomeTexts, result, "")}</span>
              </span>
              <div>
                <b>{textFor(checkTexts, check, "SIGN_IN_CHECK_")}</b>
                <p>
                  {textFor(reasonTexts, reason, "SIGN_IN_REASON_") || textFor(outcomeTexts, result, "")}
                  {until && (
                    <>
                      {" "}
                      {t(whyTexts.until)} <Time at={until} exact />
                    </>
                  )}
                </p>
              </div>
              {(result === "REFUSED" || result === "ASKED") && <ChangeLink object={object} projectId={projectId} />}
            </li>
          );
        })}
      </ol>
    </Card>
  );
}

function Grants({ grants, projectId }: { readonly grants: readonly ExplainedGrantJson[]; readonly projectId: string }) {
  return (
    <Card class="flush" title={t(whyTexts.grants)}>
      {grants.length === 0 ? (
        <Empty>{t(whyTexts.noGrants)}</Empty>
      ) : (
        <ul class="steps">
          {grants.map(({ userGrantId, roleKeys = [], organizationId = "", problem, object, expirationDate }) => {
            const wrong = textFor(problemTexts, problem, "GRANT_PROBLEM_");
            return (
              <li key={userGrantId}>
                <div>
                  <Roles keys={roleKeys} />
                  <p>
                    {t(whyTexts.by)} <Named id={organizationId} kind="organization" />
                    {expirationDate && (
                      <>
                        {" · "}
                        {t(objectTexts.ends)} <Time at={expirationDate} />
                      </>
                    )}
                  </p>
                </div>
                <Badge tone={wrong ? "bad" : "good"}>{wrong || t(objectTexts.inEffect)}</Badge>
                {wrong && <ChangeLink object={object} projectId={projectId} />}
              </li>
            );
          })}
        </ul>
      )}
    </Card>
  );
}

const places = ["idToken", "accessToken", "userinfo"] as const;

function Claims({ of }: { readonly of: ExplainSignInResponseJson }) {
  const place = useSignal<(typeof places)[number]>("idToken");
  const claims = of[place.value] ?? [];
  return (
    <Card class="flush" title={t(whyTexts.claims)}>
      <fieldset class="segments" aria-label={t(whyTexts.claims)}>
        {places.map((one) => (
          <button key={one} type="button" aria-pressed={place.value === one} onClick={() => (place.value = one)}>
            {t(whyTexts[one])}
          </button>
        ))}
      </fieldset>
      {claims.length === 0 ? (
        <Empty>{t(whyTexts.noClaims)}</Empty>
      ) : (
        <table aria-label={t(whyTexts[place.value])}>
          <thead>
            <tr>
              <th scope="col">{t(whyTexts.claim)}</th>
              <th scope="col">{t(whyTexts.value)}</th>
              <th scope="col" class="minor">
                {t(whyTexts.origin)}
              </th>
            </tr>
          </thead>
          <tbody>
            {claims.map((claim) => (
              <tr key={claim.name}>
                <th scope="row">
                  <code>{claim.name}</code>
                </th>
                <td>
                  <Value of={claim} />
                </td>
                <td class="minor quiet">
                  {textFor(originTexts, claim.origin, "CLAIM_ORIGIN_")}
                  {claim.metadataKey && <code> {claim.metadataKey}</code>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function Value({ of: { value } }: { readonly of: ExplainedClaimJson }) {
  if (value === undefined) return <span class="quiet">{t(whyTexts.atSignIn)}</span>;
  return <code>{typeof value === "string" ? value : JSON.stringify(value)}</code>;
}
