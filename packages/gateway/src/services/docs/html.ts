import { escapeHtml } from "../html_text.ts";

/** A piece of escaped HTML. */
export type Html = { readonly html: string };

/** The content of a page, and its title. */
export type Content = { readonly title: string; readonly main: Html };

/** An HTML template; values that are not Html are escaped. */
export function html(
  texts: TemplateStringsArray,
  ...values: readonly (Html | readonly Html[] | string | number)[]
): Html {
  const written = texts.map((text, index) => text + (index < values.length ? writtenOf(values[index] ?? "") : ""));
  return { html: written.join("") };
}

function writtenOf(value: Html | readonly Html[] | string | number): string {
  if (typeof value === "string" || typeof value === "number") return escapeHtml(String(value));
  return "html" in value ? value.html : value.map((one) => one.html).join("");
}

/** Text with backquoted words as code. */
export function prose(text: string): Html {
  const parts = text.split("`").map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
  return html`${parts}`;
}
