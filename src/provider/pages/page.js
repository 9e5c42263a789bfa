// The parts of the pages that need a script: show a password, mark its rules, show times as the browser's clock has them, and use passkeys.
// Without the script, the buttons are hidden, and times are in UTC.

for (const input of document.querySelectorAll("input[data-show]")) {
  const { show, hide } = input.dataset;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "reveal";
  const set = (type) => {
    input.type = type;
    button.textContent = type === "password" ? show : hide;
    button.setAttribute("aria-label", `${button.textContent}: ${input.labels[0].textContent}`);
  };
  set("password");
  button.addEventListener("click", () => {
    set(input.type === "password" ? "text" : "password");
    input.focus();
  });
  // Browsers keep texts typed into text fields, and offer them to the next person.
  input.form.addEventListener("submit", () => set("password"));
  input.after(button);
}

// Marks the rules of a new password as one types; the server checks them when the form is sent.
const rules = {
  length: (text, least) => [...text].length >= Number(least),
  upper: (text) => /\p{Lu}/u.test(text),
  lower: (text) => /\p{Ll}/u.test(text),
  digit: (text) => /\p{Nd}/u.test(text),
  symbol: (text) => /[^\p{L}\p{M}\p{Nd}]/u.test(text),
};

for (const list of document.querySelectorAll("ul[data-field]")) {
  const input = document.getElementById(list.dataset.field);
  const mark = () => {
    for (const item of list.querySelectorAll("[data-rule]")) {
      const [rule, least] = item.dataset.rule.split(" ");
      const isMet = rules[rule](input.value.normalize("NFC"), least);
      if (item.classList.toggle("met", isMet) === (item.querySelector(".said") !== null)) continue;
      if (!isMet) {
        item.querySelector(".said").remove();
        continue;
      }
      const said = document.createElement("span");
      said.className = "said";
      said.textContent = ` (${list.dataset.met})`;
      item.append(said);
    }
  };
  input.addEventListener("input", mark);
  mark();
}

for (const time of document.querySelectorAll("time")) {
  time.title = time.textContent;
  const local = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  time.textContent = local.format(new Date(time.dateTime));
}

// Signs in with a passkey, or creates one: asks the browser with the options of a form, and sends the form with its answer.
const form = document.querySelector("form[data-passkey]");
const isMaking = form?.dataset.passkey === "create";
const abilities = globalThis.PublicKeyCredential;

if (form && abilities?.parseRequestOptionsFromJSON && abilities.parseCreationOptionsFromJSON) {
  form.hidden = false;
  let waiting = "conditional" in form.dataset ? offered() : undefined;
  form.querySelector("button").addEventListener("click", async () => {
    waiting?.abort();
    waiting = undefined;
    form.querySelector("[role=alert]").hidden = true;
    try {
      send(await (isMaking ? made() : navigator.credentials.get({ publicKey: options() })));
    } catch {
      // Cancelled, too late, or no passkey: the browser says which, the page only that the user may try again.
      form.querySelector("[role=alert]").hidden = false;
    }
  });
}

function options() {
  const json = JSON.parse(form.dataset.options);
  return isMaking ? abilities.parseCreationOptionsFromJSON(json) : abilities.parseRequestOptionsFromJSON(json);
}

function made() {
  return navigator.credentials.create({ publicKey: options() });
}

/** Offers passkeys in the autofill list of the login name field. */
function offered() {
  const controller = new AbortController();
  const wait = async () => {
    if (!(await abilities.isConditionalMediationAvailable?.()) || controller.signal.aborted) return;
    const publicKey = options();
    send(await navigator.credentials.get({ publicKey, mediation: "conditional", signal: controller.signal }));
  };
  wait().catch(() => {});
  return controller;
}

function send(credential) {
  form.elements.namedItem("credential").value = JSON.stringify(credential.toJSON());
  form.submit();
}
