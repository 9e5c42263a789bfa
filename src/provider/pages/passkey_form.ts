import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { type Html, html, nothing } from "./html.ts";

/** The form that brings back the answer of a passkey; a script shows it where the browser has passkeys. */
export type PasskeyForm = {
  readonly language: Language;
  readonly path: string;
  /** The hidden fields of the page, and those that go with the answer. */
  readonly hidden: readonly Html[];
  /** Whether the browser is asked for an answer, for a new passkey, or offers passkeys with the login name as well. */
  readonly asks: "get" | "create" | "conditional";
  readonly options: object;
  readonly label: PageText;
  /** Fields that its user fills in. */
  readonly fields?: Html;
};

/** Writes the form of a passkey. Its options are an attribute, as no script stands in a page. */
export function passkeyForm({ language, path, hidden, asks, options, label, fields = nothing }: PasskeyForm): Html {
  const way = asks === "create" ? "create" : "get";
  const conditional = asks === "conditional" ? html` data-conditional` : nothing;
  return html`<form method="post" action="${path}" hidden data-passkey="${way}"${conditional} data-options="${JSON.stringify(options)}">
${hidden}<input type="hidden" name="action" value="passkey"><input type="hidden" name="credential" value="">
${fields}<p class="bad" role="alert" hidden>${pageText("passkey_failed", language)}</p>
<button type="button" class="plain">${pageText(label, language)}</button>
</form>
<noscript><p>${pageText("passkey_script", language)}</p></noscript>`;
}
