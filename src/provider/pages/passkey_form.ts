import type { Language } from "../../messages/language.ts";
import { type PageText, pageText } from "../../messages/page.ts";
import { type Html, html, nothing, withScript } from "./html.ts";

/** The form that returns a passkey's response; a script shows it if the browser supports passkeys. */
export type PasskeyForm = {
  readonly language: Language;
  readonly path: string;
  /** The hidden fields of the page, and those that accompany the response. */
  readonly hidden: readonly Html[];
  /** Whether the form asks for a sign-in, asks for a new passkey, or offers passkeys in the login name field. */
  readonly asks: "get" | "create" | "conditional";
  readonly options: object;
  readonly label: PageText;
  readonly fields?: Html;
};

/** Writes a passkey form. The options are an attribute, because pages contain no inline script. */
export function passkeyForm({ language, path, hidden, asks, options, label, fields = nothing }: PasskeyForm): Html {
  const way = asks === "create" ? "create" : "get";
  const conditional = asks === "conditional" ? html` data-conditional` : nothing;
  return withScript(html`<form method="post" action="${path}" hidden data-passkey="${way}"${conditional} data-options="${JSON.stringify(options)}">
${hidden}<input type="hidden" name="action" value="passkey"><input type="hidden" name="credential" value="">
${fields}<p class="bad" role="alert" hidden>${pageText("passkey_failed", language)}</p>
<button type="button"${asks === "create" ? nothing : html` class="plain"`}>${pageText(label, language)}</button>
</form>
<noscript><p>${pageText("passkey_script", language)}</p></noscript>`);
}
