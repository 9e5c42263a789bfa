/** A piece of escaped HTML. */
export type Html = { readonly html: string };

/** What a page shows, and its name. */
export type Content = { readonly title: string; readonly main: Html };

/** A template of HTML; values that are not Html are escaped. */
export function html(
  texts: TemplateStringsArray,
  ...values: readonly (Html | readonly Html[] | string | number)[]
): Html {
  const written = texts.map((text, index) => text + (index < values.length ? writtenOf(values[index] ?? "") : ""));
  return { html: written.join("") };
}

function writtenOf(value: Html | readonly Html[] | string | number): string {
  if (typeof value === "string" || typeof value === "number") return escaped(String(value));
  return "html" in value ? value.html : value.map((one) => one.html).join("");
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Text with the words in back quotes as code. */
export function prose(text: string): Html {
  const parts = text.split("`").map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
  return html`${parts}`;
}
