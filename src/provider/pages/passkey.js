// Signs in with a passkey, or makes one: asks the browser by the options of a form, and sends the form with its answer.
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
      // Cancelled, too late, or no passkey: the browser tells which, and the page only that it may be tried again.
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

/** Offers passkeys in the list that the field of the login name opens. */
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
