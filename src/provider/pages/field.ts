import { type Html, html, nothing } from "./html.ts";

export type Field = {
  readonly name: string;
  readonly label: string;
  readonly attributes: Html;
  /** Whether to focus the field when the page opens: the first empty one. */
  readonly hasFocus?: boolean;
  /** Whether the problem reported on the page is about this field's content. */
  readonly isWrong?: boolean;
};

/** Composes a field with its label. For an invalid field, screen readers announce the problem along with it. */
export const field = ({ name, label, attributes, hasFocus = false, isWrong = false }: Field): Html =>
  html`<label for="${name}">${label}</label>
<input id="${name}" name="${name}" required ${attributes}${isWrong ? html` aria-invalid="true" aria-describedby="problem"` : nothing}${hasFocus ? html` autofocus` : nothing}>`;

/** Sentences about a failed attempt. */
export const problemsOf = (problems: readonly string[]): Html =>
  problems.length === 0
    ? nothing
    : html`<div id="problem">${problems.map((problem) => html`<p class="bad" role="alert">${problem}</p>`)}</div>`;
