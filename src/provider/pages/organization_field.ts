import type { Language } from "../../messages/language.ts";
import { pageText } from "../../messages/page.ts";
import { bounded, type Parameters } from "../http/parameters.ts";
import { field } from "./field.ts";
import { type Html, html, nothing } from "./html.ts";

const longest = 200;

/** The field for an organization with login names of its own. Few people need it, so it opens on request. */
export const organizationField = (value: string, language: Language): Html =>
  html`<details${value === "" ? nothing : html` open`}>
<summary>${pageText("organization_ask", language)}</summary>
${field({
  name: "organization",
  label: pageText("organization", language),
  attributes: html`maxlength="${String(longest)}" autocomplete="off" autocapitalize="none" spellcheck="false" value="${value}"`,
  isOptional: true,
})}
</details>`;

/** The text typed into the field. */
export const organizationIn = (form: Parameters): string => bounded(form, "organization", longest)?.trim() ?? "";
