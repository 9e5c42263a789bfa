// These functions run in the page of the reference, and use it as a reader would.

/** Searches, waits for what is found, and returns the titles. */
export async function searched(query) {
  const box = document.querySelector("input[type=search]");
  const list = document.querySelector(".results");
  const changed = new Promise((resolve) => {
    new MutationObserver(resolve).observe(list, { childList: true });
  });
  const wasEmpty = list.childElementCount === 0;
  box.value = query;
  box.dispatchEvent(new Event("input"));
  if (query !== "" || !wasEmpty) await changed;
  return [...list.querySelectorAll("li")].map((item) => (item.querySelector("a") ?? item).firstChild.data);
}

/** Follows a link of the page, and waits for the content of the other one. */
export async function followed(href) {
  await replaced(() => document.querySelector(`a[href="${href}"]`).click());
  return document.title;
}

/** Goes back, and waits for the content of the page before. */
export async function wentBack() {
  await replaced(() => history.back());
  return document.title;
}

async function replaced(act) {
  const main = document.getElementById("main");
  const changed = new Promise((resolve) => {
    const observer = new MutationObserver(() => main.isConnected || resolve());
    observer.observe(document.body, { childList: true });
  });
  act();
  await changed;
}

/** Fills the form of an operation, sends it, and waits until its button offers to send again. */
export async function called({ id, token, fields = {}, body }) {
  const section = document.getElementById(id);
  const button = section.querySelector("[aria-expanded]");
  if (button.getAttribute("aria-expanded") === "false") button.click();
  const form = section.querySelector("form");
  if (token) {
    form.querySelector("input.token").value = token;
    form.querySelector("input.token").dispatchEvent(new Event("input"));
  }
  for (const [name, value] of Object.entries(fields)) form.querySelector(`[data-name=${name}]`).value = value;
  if (body) form.querySelector("textarea").value = body;
  const send = form.querySelector("[type=submit]");
  send.click();
  await new Promise((resolve) => {
    new MutationObserver(() => send.textContent.startsWith("Send") && resolve()).observe(send, { childList: true });
  });
  return { status: form.querySelector(".status").textContent, output: form.querySelector("pre").textContent };
}

/** Copies a sample, and returns what the button says then. */
export async function copied() {
  const button = document.querySelector(".copy");
  const changed = new Promise((resolve) => {
    new MutationObserver(resolve).observe(button, { childList: true });
  });
  button.click();
  await changed;
  return button.textContent;
}

/** Opens the sample in Go. */
export async function goChosen() {
  const go = document.querySelector(".samples [data-language=Go]");
  const shown = new Promise((resolve) => go.addEventListener("toggle", resolve));
  go.open = true;
  await shown;
}

/** The languages of the samples that are open. */
export const openLanguages = () =>
  [...document.querySelectorAll(".samples [open]")].map(({ dataset }) => dataset.language);
