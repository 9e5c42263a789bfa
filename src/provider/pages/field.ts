import type { Language } from "../../messages/language.ts";
import { pageText } from "../../messages/page.ts";
import { type Html, html, nothing, withScript } from "./html.ts";

export type Field = {
  readonly name: string;
  readonly label: string;
  readonly attributes: Html;
  /** Whether to focus the field when the page opens: the first empty one. */
  readonly hasFocus?: boolean;
  readonly isOptional?: boolean;
  /** Whether the problem reported on the page is about this field's content. */
  readonly isWrong?: boolean;
};

/** Composes a field with its label. For an invalid field, screen readers announce the problem along with it. */
export const field = ({ name, label, attributes, hasFocus, isOptional, isWrong }: Field): Html =>
  html`<label for="${name}">${label}</label>
<input id="${name}" name="${name}"${isOptional ? nothing : html` required`} ${attributes}${isWrong ? html` aria-invalid="true" aria-describedby="problem"` : nothing}${hasFocus ? html` autofocus` : nothing}>`;

/** Composes a field for a password, which the pages' script can show. */
export const passwordField = (of: Field, language: Language): Html => {
  const texts = html`data-show="${pageText("show", language)}" data-hide="${pageText("hide", language)}"`;
  const shown = field({ ...of, attributes: html`type="password" ${of.attributes} ${texts}` });
  return withScript(html`<div class="secret">${shown}</div>`);
};

/** Sentences about a failed attempt. */
export const problemsOf = (problems: readonly string[]): Html =>
  problems.length === 0
    ? nothing
    : html`<div id="problem">${problems.map((problem) => html`<p class="bad" role="alert">${problem}</p>`)}</div>`;
