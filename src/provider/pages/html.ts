import { escapeHtml, type Response } from "@postern/gateway";
import { type Language, languageNames, languages } from "../../messages/language.ts";
import { inSentence, pageText } from "../../messages/page.ts";
import { paths } from "../http/paths.ts";
import type { Brand } from "./brand.ts";
import { linkIn } from "./language.ts";
import type { Look } from "./look.ts";

/** HTML that is safe to send, and whether something in it needs the pages' script. */
export type Html = { readonly html: string; readonly needsScript?: boolean };

/** Composes HTML, escaping every value that is not HTML itself. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  const written = values.map((value) => {
    if (typeof value === "string") return escapeHtml(value);
    return "html" in value ? value.html : value.map((one) => one.html).join("");
  });
  const needsScript = values.some((value) => typeof value === "object" && [value].flat().some(isScripted));
  return { html: parts.reduce((text, part, at) => text + (written[at - 1] ?? "") + part, ""), needsScript };
}

const isScripted = ({ needsScript = false }: Html): boolean => needsScript;

/** HTML that the pages' script enhances. */
export const withScript = ({ html }: Html): Html => ({ html, needsScript: true });

export const nothing: Html = { html: "" };

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** A page: its texts, and where its forms and its window may lead. */
export type Page = {
  readonly status?: number;
  readonly title: string;
  readonly body: Html;
  /** The policy's source for forms, in addition to our own origin; null lifts the restriction. */
  readonly formAction?: string | null;
  /** The navigation beside the content, on pages that belong together. They are as wide as the window allows. */
  readonly beside?: Html;
  /** Whether the window that opened this one keeps access to it: applications sign users in in a popup. */
  readonly keepsOpener?: boolean;
  /** Whether the page sends no referrer at all, not even to its own site. */
  readonly noReferrer?: boolean;
  /** Additional elements of the head. */
  readonly head?: Html;
  /** The path of another script than that of all pages. */
  readonly script?: string;
};

/** Makes the response of a page, which runs no inline script, loads nothing from elsewhere, and cannot be framed. */
export function pageResponse(look: Look, page: Page): Response {
  const { status = 200, keepsOpener = false, noReferrer = false } = page;
  const { cookies = [] } = look;
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policyOf(look, page),
      "x-frame-options": "DENY",
      // With this, forms send their origin, and links to other sites reveal nothing.
      "referrer-policy": noReferrer ? "no-referrer" : "same-origin",
      ...(keepsOpener ? {} : { "cross-origin-opener-policy": "same-origin" }),
      ...(cookies.length > 0 ? { "set-cookie": cookies } : {}),
    },
    // Buffers are never compressed, which matters because the form token appears next to texts from the request.
    body: Buffer.from(documentOf(look, page).html),
  };
}

/** The path of the only script that a page loads, if any. */
const scriptOf = ({ body, script }: Page): string | undefined =>
  script ?? (body.needsScript ? paths.script : undefined);

const policyOf = ({ brand }: Look, { formAction = "", ...page }: Page) =>
  [
    "default-src 'none'",
    "style-src 'self'",
    ...(scriptOf(page) === undefined
      ? []
      : ["script-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'"]),
    ...(brand.logoPath === undefined && brand.faviconPath === undefined ? [] : ["img-src 'self'"]),
    ...(formAction === null ? [] : [`form-action 'self'${formAction && ` ${formAction}`}`]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; ");

function documentOf(look: Look, page: Page): Html {
  const { title, body, head = nothing, beside } = page;
  const main = html`<main>
<h1>${title}</h1>
${body}
</main>`;
  const script = scriptOf(page);
  return html`<!doctype html>
<html lang="${look.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${[title, ...namesOf(look.brand).slice(0, 1)].join(" · ")}</title>
<link rel="stylesheet" href="${paths.style}">
${filesOf(look.brand)}${head}${script ? html`<script src="${script}" defer></script>` : nothing}
</head>
<body>
<div class="${beside ? "card wide" : "card"}">
${whoseOf(look.brand)}${
  beside
    ? html`<div class="sections">
${beside}
${main}
</div>`
    : main
}
${footerOf(look)}</div>
</body>
</html>
`;
}

const filesOf = ({ stylePath, faviconPath }: Brand): Html =>
  html`${
    stylePath === undefined ? nothing : html`<link rel="stylesheet" href="${stylePath}">`
  }${faviconPath === undefined ? nothing : html`<link rel="icon" href="${faviconPath}">`}`;

/** The names of the product and of the organization, if they differ. */
const namesOf = ({ productName, organizationName }: Brand): readonly string[] => [
  ...new Set([productName, organizationName].map(inSentence).filter((name) => name !== "")),
];

/** The top of a page, with its organization. */
function whoseOf(brand: Brand): Html {
  const [name = "", organization] = namesOf(brand);
  if (name === "" && brand.logoPath === undefined) return nothing;
  const logo = brand.logoPath === undefined ? nothing : html`<img class="logo" src="${brand.logoPath}" alt="">`;
  return html`<header>${logo}<div><b>${name}</b>${organization === undefined ? nothing : html` <span>${organization}</span>`}</div></header>
`;
}

/** The bottom of a page: the organization's links, which open in a new tab so that a form keeps what was typed, and the languages. */
function footerOf(look: Look): Html {
  const parts = [linksOf(look), languagesOf(look)].filter((part) => part !== nothing);
  return parts.length === 0
    ? nothing
    : html`<footer>
${parts}</footer>
`;
}

function linksOf({ brand, language }: Look): Html {
  const all = [
    ["terms", brand.termsUri],
    ["privacy", brand.privacyUri],
    ["help", brand.helpUri],
  ] as const;
  const links = all.filter(([, uri]) => uri !== "");
  const link = ([text, uri]: (typeof all)[number]) =>
    html`<a href="${uri}" target="_blank" rel="noopener noreferrer">${pageText(text, language)}</a>
`;
  return links.length === 0
    ? nothing
    : html`<p>
${links.map(link)}</p>
`;
}

// An application's request is hardly ever longer. Each link is as long as the address, and HTML escapes characters by up to six.
const longestHere = 4_000;

/** The language switch: links, so that it works without a script. */
function languagesOf({ language, here }: Look): Html {
  if (here === undefined || escapeHtml(here).length > longestHere) return nothing;
  const link = (other: Language) =>
    other === language
      ? html`<span aria-current="true">${languageNames[other]}</span>
`
      : html`<a href="${linkIn(other, here)}" lang="${other}" hreflang="${other}">${languageNames[other]}</a>
`;
  return html`<nav aria-label="${pageText("language", language)}">
${languages.map(link)}</nav>
`;
}
