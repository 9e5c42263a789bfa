import type { Page } from "../chromium.ts";
import { until } from "./until.ts";

/** Refuses whatever would change something, with a reason at the first field of the form and a sentence of its own. */
const refuseWrites = `(() => {
  const asked = globalThis.fetch;
  globalThis.fetch = (path, options) => {
    if (!/^\\/postern/.test(path) || /\\/(Get|List|Find|Explain|Evaluate|Watch)/.test(path)) return asked(path, options);
    const field = document.querySelector(":is(dialog[open], main) form.form [name]")?.name ?? "";
    const details = [
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "VALIDATION_FAILED", domain: "postern" },
      { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [
        { field, description: "this is refused, and the reason for it takes more than one line of a telephone" },
        { field: "elsewhere", description: "so is this" },
      ] },
    ];
    const body = JSON.stringify({ code: 3, message: "the request is not valid", details });
    return Promise.resolve(new Response(body, { status: 400, headers: { "content-type": "application/json" } }));
  };
})`;

// What opens no form is left alone: the switches of a view, what copies, and what a form consists of.
const openers = `[...document.querySelectorAll("main button:not([disabled], [aria-pressed], [aria-expanded], .copy)")]
  .filter((one) => !one.closest("dialog, form"))`;
const countOpeners = `(() => ${openers}.length)`;
const press = `((at) => ${openers}[at]?.click())`;

const form = `document.querySelector("dialog[open] form.form, main form.form:not(.wizard *)")`;
/** The heading above the form that is open, or nothing. */
const heading = `(async () => {
  for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
  return ${form}?.closest("dialog, .card").querySelector("h2")?.textContent ?? "";
})`;
/** Something has to be written, because a form in which nothing was changed is not sent. */
const submit = `(async () => {
  const first = ${form}.querySelector("input:not([type=file], [type=color], [type=radio], [role=combobox]), textarea");
  if (first?.type === "checkbox") first.click();
  else if (first) {
    first.value += first.type === "number" ? "1" : first.type === "date" ? "" : "x";
    first.dispatchEvent(new Event("input", { bubbles: true }));
  } else if (${form}.querySelector("[type=radio]")) [...${form}.querySelectorAll("[type=radio]:not(:checked)")].at(-1).click();
  else {
    const choice = ${form}.querySelector("select");
    if (choice) choice.selectedIndex = [...choice.options].findLastIndex((one) => !one.selected);
    choice?.dispatchEvent(new Event("change", { bubbles: true }));
  }
  await new Promise(requestAnimationFrame);
  ${form}.requestSubmit();
})`;
const isRefused = `(() => document.querySelector(".trouble, [aria-invalid=true], .help.bad") !== null)`;
const close = `(() => [...${form}.querySelectorAll(".form-acts button")].at(-1).click())`;
const isClosed = `(() => ${form} === null)`;

/** Looks at a form with this heading. */
export type Look = (title: string, state: "open" | "refused") => Promise<void>;

/**
 * Opens every form that the buttons of a page open, and looks at it as it opens and after it was refused.
 * Those seen on another page are passed over; nothing is changed.
 */
export async function dialogsOf(page: Page, seen: Set<string>, look: Look): Promise<void> {
  await page.run(refuseWrites);
  const many = Number(await page.run(countOpeners));
  for (let at = 0; at < many; at++) {
    await page.run(press, at);
    const title = String(await page.run(heading));
    if (!title) continue;
    if (!seen.has(title)) await lookTwice(page, title, look);
    seen.add(title);
    await page.run(close);
    await until(page, `${title} is closed`, isClosed);
  }
}

async function lookTwice(page: Page, title: string, look: Look): Promise<void> {
  await look(title, "open");
  await page.run(submit);
  await until(page, `${title} is refused`, isRefused);
  await look(title, "refused");
}
