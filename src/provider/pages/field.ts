import type { Language } from "../../messages/language.ts";
import { pageText } from "../../messages/page.ts";
import { type Html, html, nothing, withScript } from "./html.ts";

export type Field = {
  readonly name: string;
  readonly label: string;
  readonly attributes: Html;
  /** Whether to focus the field when the page opens: the first empty one. */
  readonly hasFocus?: boolean;
  /** Whether the problem reported on the page is about this field's content. */
  readonly isWrong?: boolean;
  /** Whether the field may stay empty. */
  readonly isOptional?: boolean;
  /** Whether the value may have several lines. */
  readonly isLong?: boolean;
  readonly value?: string;
  /** The id of an element that explains the field. */
  readonly describedBy?: string;
};

/** Composes a field with its label. For an invalid field, screen readers announce the problem along with it. */
export function field(of: Field): Html {
  const { name, label, attributes, value, isLong = false } = of;
  const all = html`id="${name}" name="${name}"${of.isOptional ? nothing : html` required`} ${attributes}${describedBy(of)}${of.hasFocus ? html` autofocus` : nothing}`;
  return html`<label for="${name}">${label}</label>
${isLong ? html`<textarea ${all}>${`\n${value ?? ""}`}</textarea>` : html`<input ${all}${value ? html` value="${value}"` : nothing}>`}`;
}

function describedBy({ isWrong = false, describedBy }: Field): Html {
  const ids = [...(isWrong ? ["problem"] : []), ...(describedBy === undefined ? [] : [describedBy])];
  const all = ids.length > 0 ? html` aria-describedby="${ids.join(" ")}"` : nothing;
  return html`${isWrong ? html` aria-invalid="true"` : nothing}${all}`;
}

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
