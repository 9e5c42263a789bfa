import type { Response } from "@postern/gateway";
import type { Language } from "../../messages/language.ts";
import { escaped } from "../../security/html_text.ts";
import { paths } from "../http/paths.ts";
import type { Brand } from "./brand.ts";

/** HTML that is safe to send. */
export type Html = { readonly html: string };

/** Composes HTML, escaping every value that is not HTML itself. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  const written = values.map((value) => {
    if (typeof value === "string") return escaped(value);
    return "html" in value ? value.html : value.map((one) => one.html).join("");
  });
  return { html: parts.reduce((text, part, at) => text + (written[at - 1] ?? "") + part, "") };
}

export const nothing: Html = { html: "" };

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** A page: its texts, and where its forms and its window may lead. */
export type Page = {
  readonly status?: number;
  readonly language: Language;
  readonly title: string;
  readonly body: Html;
  /** The policy's source for forms, in addition to our own origin; null lifts the restriction. */
  readonly formAction?: string | null;
  /** Whether the window that opened this one keeps access to it: applications sign users in in a popup. */
  readonly keepsOpener?: boolean;
  /** Whether the page sends no referrer at all, not even to its own site. */
  readonly noReferrer?: boolean;
  /** Additional elements of the head. */
  readonly head?: Html;
  /** The path of the page's only script, if any. */
  readonly script?: string;
  readonly cookies?: readonly string[];
  /** The branding of the organization that the page is shown for; ours if absent. */
  readonly brand?: Brand | undefined;
};

/** Makes the response of a page, which runs no inline script, loads nothing from elsewhere, and cannot be framed. */
export function pageResponse(page: Page): Response {
  const { status = 200, cookies = [], keepsOpener = false, noReferrer = false } = page;
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policyOf(page),
      "x-frame-options": "DENY",
      // With this, forms send their origin, and links to other sites reveal nothing.
      "referrer-policy": noReferrer ? "no-referrer" : "same-origin",
      ...(keepsOpener ? {} : { "cross-origin-opener-policy": "same-origin" }),
      ...(cookies.length > 0 ? { "set-cookie": cookies } : {}),
    },
    // Buffers are never compressed, which matters because the form token appears next to texts from the request.
    body: Buffer.from(documentOf(page).html),
  };
}

const policyOf = ({ script, brand, formAction = "" }: Page) =>
  [
    "default-src 'none'",
    "style-src 'self'",
    ...(script ? ["script-src 'self'"] : []),
    ...(brand?.logoPath === undefined ? [] : ["img-src 'self'"]),
    ...(formAction === null ? [] : [`form-action 'self'${formAction && ` ${formAction}`}`]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");

const documentOf = ({ language, title, body, head = nothing, script, brand }: Page): Html => html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="stylesheet" href="${paths.style}">
${brand ? html`<link rel="stylesheet" href="${brand.stylePath}">` : nothing}${head}${script ? html`<script src="${script}" defer></script>` : nothing}
</head>
<body>
<main>
${logoOf(brand)}<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;

const logoOf = (brand: Brand | undefined): Html =>
  brand?.logoPath === undefined
    ? nothing
    : html`<img class="logo" src="${brand.logoPath}" alt="${brand.organizationName}">
`;
