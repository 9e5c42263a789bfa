import { useSignal } from "@preact/signals";
import { type MadeCall, madeCalls } from "../calls/made_calls.ts";
import { Badge } from "../parts/badge.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { type Tool, tools, written } from "./written_calls.ts";

/** The calls that the page made, in a form to repeat them elsewhere. */
export default function CallsDrawer({ onClose }: { readonly onClose: () => void }) {
  const tool = useSignal<Tool>("curl");
  const made = madeCalls.value.toReversed();
  return (
    <Dialog title={t(shellTexts.calls)} onClose={onClose} class="drawer">
      <p class="quiet">{t(made.length > 0 ? shellTexts.callsAbout : shellTexts.noCalls)}</p>
      <fieldset class="segments" aria-label={t(shellTexts.language)}>
        {tools.map((one) => (
          <button key={one} type="button" aria-pressed={tool.value === one} onClick={() => (tool.value = one)}>
            {one}
          </button>
        ))}
      </fieldset>
      {made.map((one, index) => (
        <Made key={made.length - index} made={one} tool={tool.value} />
      ))}
    </Dialog>
  );
}

function Made({ made, tool }: { readonly made: MadeCall; readonly tool: Tool }) {
  const text = written(made, tool);
  return (
    <article class="made">
      <header>
        <b>{made.method.split("/")[1]}</b>
        <Badge tone={made.status < 400 ? "good" : "bad"}>{String(made.status)}</Badge>
        <span class="quiet">{Math.round(made.took)} ms</span>
        <CopyButton value={text} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </article>
  );
}
