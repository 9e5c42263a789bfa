import { Dialog } from "../parts/dialog.tsx";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";

/** Covers the page, which keeps its drafts, until somebody has signed in. */
export function SessionEnded() {
  return (
    <Dialog title={t(shellTexts.ended)} onClose={() => {}} isFirm class="covering">
      <p>{t(shellTexts.endedAbout)}</p>
      <div class="form-acts">
        <a class="button main" href="/console/" target="_blank" rel="noopener">
          <span>{t(shellTexts.signIn)}</span>
        </a>
      </div>
    </Dialog>
  );
}
