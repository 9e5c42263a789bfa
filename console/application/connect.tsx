import { useSignal } from "@preact/signals";
import type { ApplicationJson } from "../../gen/postern/v1/application_pb.ts";
import { CopyButton } from "../parts/copy.tsx";
import { Card } from "../parts/page.tsx";
import { applicationTexts } from "../texts/applications.ts";
import { t } from "../texts/text.ts";
import { kindOf } from "./kinds.ts";
import { snippetsFor } from "./snippets.ts";

/** A start for the code of the application, with its own ids. */
export function Connect({ application }: { readonly application: ApplicationJson }) {
  const { issuer = "" } = document.documentElement.dataset;
  const { clientId = "", oidc } = application;
  const redirectUri = oidc?.redirectUris?.[0] ?? "https://app.example.com/callback";
  const snippets = snippetsFor(kindOf(application), { issuer, clientId, redirectUri });
  const chosen = useSignal(0);
  const text = snippets[chosen.value]?.text ?? "";
  return (
    <Card
      title={t(applicationTexts.connect)}
      about={t(applicationTexts.connectAbout)}
      actions={<CopyButton value={text} />}
    >
      <fieldset class="segments" aria-label={t(applicationTexts.stack)}>
        {snippets.map(({ name }, index) => (
          <button key={name} type="button" aria-pressed={chosen.value === index} onClick={() => (chosen.value = index)}>
            {name}
          </button>
        ))}
      </fieldset>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </Card>
  );
}
