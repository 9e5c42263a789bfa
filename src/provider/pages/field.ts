import { type Html, html, nothing } from "./html.ts";

/** A field that a person fills in. */
export type Field = {
  readonly name: string;
  readonly label: string;
  /** Its other attributes. */
  readonly attributes: Html;
  /** Whether the cursor is in it when the page opens: the first field that is empty. */
  readonly hasFocus?: boolean;
  /** Whether the problem that the page tells is about what was in it. */
  readonly isWrong?: boolean;
};

/** Composes a field with its label. A screen reader tells the problem of the page together with a field that is wrong. */
export const field = ({ name, label, attributes, hasFocus = false, isWrong = false }: Field): Html =>
  html`<label for="${name}">${label}</label>
<input id="${name}" name="${name}" required ${attributes}${isWrong ? html` aria-invalid="true" aria-describedby="problem"` : nothing}${hasFocus ? html` autofocus` : nothing}>`;

/** Sentences about an attempt that was refused. */
export const problemsOf = (problems: readonly string[]): Html =>
  problems.length === 0
    ? nothing
    : html`<div id="problem">${problems.map((problem) => html`<p class="bad" role="alert">${problem}</p>`)}</div>`;
