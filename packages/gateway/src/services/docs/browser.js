// The search, the copy buttons and the calls of the API reference. It creates only nodes and texts, keeps the token in this page's memory,
// and calls no server but the one that served the page. Links replace the content of the page, so that the token stays.

/** Makes an element with attributes and children. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Search

let index;

/** The pages with their words, fetched when the search is first used. */
async function indexOf() {
  const response = await fetch("/docs/search.json", { credentials: "omit" });
  if (!response.ok) throw new Error(`the search answers ${response.status}`);
  return (await response.json()).map((hit) => ({ ...hit, name: hit.title.toLowerCase() }));
}

/** The hits of a query; undefined if the index cannot be loaded. */
async function found(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  index ??= indexOf();
  const hits = await index.catch(() => (index = undefined));
  const rank = ({ name }) => (name.startsWith(words[0]) ? 0 : name.includes(words[0]) ? 1 : 2);
  return hits
    ?.filter((hit) => words.every((word) => hit.words.includes(word)))
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
  document.querySelector("nav .menu").before(element("div", { class: "search", role: "search" }, box), list);
  box.addEventListener("input", async () => {
    const query = box.value;
    const hits = await found(query);
    if (box.value !== query) return;
    const isEmpty = query.trim() === "";
    document.querySelector("nav .menu").hidden = !isEmpty;
    const links = hits?.map(({ href, title, note }) => element("a", { href }, title, element("small", {}, note)));
    const note = hits ? "Nothing found" : "The search is not available";
    list.replaceChildren(...(isEmpty || links?.length ? links : [note]).map((one) => element("li", {}, one)));
  });
  box.addEventListener("keydown", ({ key }) => {
    if (key === "Enter") list.querySelector("a")?.click();
    if (key === "Escape") endSearch();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea")) return;
    event.preventDefault();
    box.focus();
  });
}

function endSearch() {
  const box = document.querySelector("input[type=search]");
  box.value = "";
  box.dispatchEvent(new Event("input"));
}

// Copies

async function copy(text) {
  // A page loaded without TLS from another machine has no clipboard, and browsers may deny it to others.
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

let chosen = "curl";

/** Shows the samples in the language that the reader chose, on this and all later pages. */
function openChosen() {
  for (const details of all(`.samples [data-language="${chosen}"]`)) details.open = true;
}

function chooseLanguages() {
  document.addEventListener(
    "toggle",
    ({ target }) => {
      if (target.open) chosen = target.dataset.language ?? chosen;
    },
    true,
  );
}

/** Writes this server's address into the samples. */
function nameServer() {
  const environment = document.getElementById("environment");
  if (environment) environment.textContent = environment.textContent.replace(/URL=\S+/, `URL=${location.origin}`);
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
    await showBody(response, output);
  } catch (error) {
    status.textContent = signal.aborted ? "Stopped" : `No response: ${error.message}`;
  }
}

/** Shows a body as it arrives, and JSON indented at its end. */
async function showBody(response, output) {
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

// Safari's streams are not iterable.
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

// Pages

/** Adds the parts of a page that need the script. */
function dress() {
  nameServer();
  all("main pre").forEach(addCopy);
  openChosen();
  if (document.body.dataset.calls === "here") all("section.operation").forEach(addCall);
}

/** The page at a URL. A request of this kind parses HTML without running anything, and needs no exception from the policy. */
function pageAt(url) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", url);
    request.responseType = "document";
    request.onload = () => (request.status === 200 && request.response ? resolve(request.response) : reject());
    request.onerror = reject;
    request.send();
  });
}

let shown = location.pathname;

/** Shows the content of another page in place of this one's; `top` is its scroll position when it was left. */
async function openPage(url, top) {
  shown = url.pathname;
  const page = await pageAt(url.pathname).catch(() => undefined);
  if (shown !== url.pathname) return;
  if (!page) return location.assign(url);
  document.title = page.title;
  for (const part of ["main", "nav .menu"])
    document.querySelector(part).replaceWith(document.adoptNode(page.querySelector(part)));
  dress();
  endSearch();
  document.getElementById("main").focus({ preventScroll: true });
  const target = url.hash && document.getElementById(url.hash.slice(1));
  if (target && top === undefined) target.scrollIntoView();
  else scrollTo(0, top ?? 0);
}

const isPage = ({ origin, pathname }) => origin === location.origin && /^\/docs(\/|$)/.test(pathname);

function followLinks() {
  history.scrollRestoration = "manual";
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!link || !isPlain || !isPage(link) || link.pathname === shown) return;
    event.preventDefault();
    history.replaceState({ top: scrollY }, "");
    history.pushState(null, "", link.href);
    openPage(new URL(link.href));
  });
  addEventListener("popstate", ({ state }) => {
    if (location.pathname === shown) leaveOverview();
    else openPage(new URL(location.href), state?.top);
  });
}

/** In links from when the reference was one page, the operation, type or status follows the number sign. */
function leaveOverview() {
  if (location.pathname !== "/docs") return;
  const id = decodeURIComponent(location.hash.slice(1));
  const [, name] = /^type-(\w+)$/.exec(id) ?? [];
  const ofOperation = document.getElementById(id)?.matches(".operations > li") && document.getElementById(id);
  if (name) location.replace(`/docs/types/${name}`);
  else if (/^status-\w+$/.test(id)) location.replace(`/docs/errors#${id}`);
  else if (ofOperation) location.replace(ofOperation.querySelector("a").href);
}

leaveOverview();
addSearch();
dress();
chooseLanguages();
followLinks();
