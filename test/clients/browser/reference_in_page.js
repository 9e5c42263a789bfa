// These functions run in the page of the reference, and use it as a reader would.

/** Searches, and returns the titles of what is found. */
export function searched(query) {
  const box = document.querySelector("input[type=search]");
  box.value = query;
  box.dispatchEvent(new Event("input"));
  return [...document.querySelectorAll(".results li")].map((item) => (item.querySelector("a") ?? item).firstChild.data);
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

/** Opens the sample in Go of the first operation, and says of the first two whether theirs are open. */
export async function goShown() {
  const [first, second] = document.querySelectorAll(".samples [data-language=Go]");
  const shown = new Promise((resolve) => second.addEventListener("toggle", resolve));
  first.open = true;
  await shown;
  return [first.open, second.open];
}
