import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import type { PolicyInForce } from "../../services/policies/policy.ts";
import { type Html, html, nothing, withScript } from "./html.ts";

/** The id of the rules, for the field that they describe. */
export const rulesId = "rules";

/** The rules of a policy for the field `new_password`, which the pages' script marks as one types. The texts are the same without it. */
export function passwordRules(language: Language, policy: PolicyInForce): Html {
  const asked: readonly (readonly [boolean, string, PageText])[] = [
    [true, `length ${policy.minimumLength}`, "rule_length"],
    [policy.requiresUpper, "upper", "rule_upper"],
    [policy.requiresLower, "lower", "rule_lower"],
    [policy.requiresDigit, "digit", "rule_digit"],
    [policy.requiresSymbol, "symbol", "rule_symbol"],
  ];
  const count = String(policy.minimumLength);
  const items = asked
    .filter(([isAsked]) => isAsked)
    .map(([, rule, text]) => html`<li data-rule="${rule}">${pageText(text, language, { count })}</li>\n`);
  return withScript(html`<div class="note" id="${rulesId}">
<p>${pageText("password_rules", language)}</p>
<ul class="rules" data-field="new_password" data-met="${pageText("rule_met", language)}">
${items}</ul>
<p>${pageText("rule_names", language)}${policy.historyDepth > 0 ? html` ${pageText("rule_history", language)}` : nothing}</p>
</div>`);
}
