// The search, the copy buttons and the calls of the API reference. It makes nodes and texts only, keeps the token in this page's
// memory, and calls no server but the one that served the page.

/** Makes an element with attributes and children. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Search

/** The sections of the page with their words, made when the search is first used. */
function indexOf() {
  return all("section.operation, section.error, section.type").map((section) => {
    const title = section.querySelector("h3").textContent;
    const parts = all("h3, .paths, p, table", section).map((part) => part.textContent.toLowerCase());
    const path = section.querySelector(".paths code")?.textContent ?? "";
    return { id: section.id, title, path, name: title.toLowerCase(), words: parts.join(" ") };
  });
}

function found(index, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = ({ name }) => (name.startsWith(words[0]) ? 0 : name.includes(words[0]) ? 1 : 2);
  return index
    .filter((entry) => words.every((word) => entry.words.includes(word)))
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, 40);
}

function addSearch() {
  const box = element("input", {
    type: "search",
    placeholder: "Search",
    "aria-label": "Search",
    "aria-keyshortcuts": "/",
  });
  const list = element("ul", { class: "results", "aria-label": "Search results" });
  const menu = document.querySelector("nav .menu");
  let index;
  menu.before(element("div", { class: "search", role: "search" }, box), list);
  box.addEventListener("input", () => {
    index ??= indexOf();
    const query = box.value.trim();
    menu.hidden = query !== "";
    const hits = query === "" ? [] : found(index, query);
    const links = hits.map(({ id, title, path }) =>
      element("li", {}, element("a", { href: `#${id}` }, title, element("small", {}, path))),
    );
    list.replaceChildren(...(query !== "" && hits.length === 0 ? [element("li", {}, "Nothing found")] : links));
  });
  box.addEventListener("keydown", ({ key }) => {
    if (key === "Enter") list.querySelector("a")?.click();
    if (key !== "Escape") return;
    box.value = "";
    box.dispatchEvent(new Event("input"));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea")) return;
    event.preventDefault();
    box.focus();
  });
}

// Copies

async function copy(text) {
  // A page that came without TLS from another machine has no clipboard, and others may keep it from the page.
  const isWritten = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  if (isWritten) return;
  const area = element("textarea", { class: "skip" });
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (!isCopied) throw new Error("the browser does not copy");
}

function addCopy(pre) {
  const button = element("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = await copy(pre.textContent).then(
      () => "Copied",
      () => "Not copied",
    );
    setTimeout(() => button.replaceChildren("Copy"), 2000);
  });
  const frame = element("div", { class: "code" });
  pre.replaceWith(frame);
  frame.append(pre, button);
}

// Samples

/** Shows the samples of one language everywhere, once a reader opened one. */
function chooseLanguages() {
  let chosen = "curl";
  document.addEventListener(
    "toggle",
    ({ target }) => {
      const { language } = target.dataset;
      if (!target.open || language === undefined || language === chosen) return;
      chosen = language;
      const before = target.getBoundingClientRect().top;
      for (const details of all(`.samples [data-language="${language}"]`)) details.open = true;
      scrollBy({ top: target.getBoundingClientRect().top - before, behavior: "instant" });
    },
    true,
  );
}

/** Writes this server into the samples. */
function nameServer() {
  const environment = document.getElementById("environment");
  environment.textContent = environment.textContent.replace(/URL=\S+/, `URL=${location.origin}`);
  if (location.protocol !== "https:") return;
  for (const code of all('[data-language="grpcurl"] code'))
    code.textContent = code.textContent.replace(" -plaintext", "");
}

// Calls

let token = "";
const maxShown = 1_000_000;

function field(label, input) {
  return element("label", {}, element("span", {}, label), input);
}

/** A field for the token, which all forms share; browsers are asked not to keep it. */
function tokenField() {
  const input = element("input", { type: "password", autocomplete: "off", spellcheck: "false", class: "token" });
  input.value = token;
  input.addEventListener("input", () => {
    token = input.value.trim();
    for (const other of all("input.token")) if (other !== input) other.value = token;
  });
  return field("Token, kept in the memory of this page only", input);
}

function parameterField({ name, in: where, required }) {
  const input = element("input", { autocomplete: "off", spellcheck: "false", "data-in": where, "data-name": name });
  input.required = required;
  return field(`${name} (${where}${required ? ", required" : ""})`, input);
}

function form(call) {
  const made = element("form", { class: "call", "aria-label": "Call" });
  if (call.needsToken) made.append(tokenField());
  const needed = call.parameters.filter(({ required }) => required);
  const others = call.parameters.filter(({ required }) => !required);
  made.append(...needed.map(parameterField));
  if (others.length > 0)
    made.append(element("details", {}, element("summary", {}, "More parameters"), ...others.map(parameterField)));
  if (call.body !== undefined) {
    const area = element("textarea", {
      rows: String(Math.min(16, call.body.split("\n").length + 1)),
      spellcheck: "false",
    });
    area.value = call.body;
    made.append(field("Body, as JSON", area));
  }
  const send = element("button", { type: "submit" }, `Send ${call.verb}`);
  const status = element("p", { class: "status", role: "status" });
  const output = element("pre", { tabindex: "0", "aria-label": "The response" });
  made.append(element("p", { class: "none" }, `This is a real call of ${location.origin}.`), send, status, output);
  let running;
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (running) return running.abort();
    running = new AbortController();
    send.textContent = "Stop";
    await perform(requestOf(call, made), { status, output, signal: running.signal });
    running = undefined;
    send.textContent = `Send ${call.verb}`;
  });
  return made;
}

/** The request of a form: a path of this server, and options of fetch. */
function requestOf({ verb, path, needsToken, body }, made) {
  const headers = new Headers(needsToken && token !== "" ? { authorization: `Bearer ${token}` } : {});
  const query = new URLSearchParams();
  let target = path;
  for (const { value, dataset } of all("input[data-in]", made)) {
    const { in: where, name } = dataset;
    if (where === "path") target = target.replace(`{${name}}`, () => encodeURIComponent(value));
    else if (value !== "") (where === "query" ? query : headers).append(name, value);
  }
  const hasBody = body !== undefined;
  if (hasBody) headers.set("content-type", "application/json");
  const url = new URL(target, location.origin);
  url.search = query;
  return { url, verb, headers, body: hasBody ? made.querySelector("textarea").value : undefined };
}

async function perform({ url, verb, headers, body }, { status, output, signal }) {
  const began = performance.now();
  status.textContent = "Sent";
  output.textContent = "";
  try {
    const fixed = { credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer" };
    const response = await fetch(url, { ...fixed, method: verb, headers, body, signal });
    const took = Math.round(performance.now() - began);
    status.textContent = `${response.status} after ${took} ms, request ${response.headers.get("x-request-id") ?? "without an id"}`;
    await show(response, output);
  } catch (error) {
    status.textContent = signal.aborted ? "Stopped" : `No response: ${error.message}`;
  }
}

/** Shows a body as it comes, and at its end JSON with its lines indented. */
async function show(response, output) {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of bytesOf(response.body)) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > maxShown) throw new Error("the response is too long to be shown");
    output.textContent = text;
  }
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/json")) output.textContent = JSON.stringify(JSON.parse(text), null, 2);
}

// Safari's streams are no iterables.
async function* bytesOf(body) {
  const reader = body.getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  } finally {
    await reader.cancel();
  }
}

function addCall(section) {
  const button = element("button", { type: "button", "aria-expanded": "false" }, "Try it");
  let made;
  button.addEventListener("click", () => {
    if (!made) {
      made = form(JSON.parse(section.dataset.call));
      button.after(made);
    } else made.hidden = !made.hidden;
    button.setAttribute("aria-expanded", String(!made.hidden));
  });
  section.querySelector(".samples").after(button);
}

nameServer();
addSearch();
all("pre").forEach(addCopy);
chooseLanguages();
if (document.body.dataset.calls === "here") all("section.operation").forEach(addCall);
