import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Refusal } from "../calls/refusal.ts";
import { goToSignIn } from "../sign_in/sign_in.ts";
import { connectionTexts } from "../texts/connection.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { Button, LinkButton } from "./button.tsx";
import { Icon } from "./icons.tsx";

type TroubleProps = {
  readonly refusal: Refusal;
  /** Tries again; without it, only the reason is shown. */
  readonly retry?: (() => unknown) | undefined;
};

/** The reason for a failure, in the server's words, and the time at which another try makes sense. */
export function Trouble({ refusal, retry }: TroubleProps) {
  const seconds = useCountdown(refusal.retryAt);
  return (
    <div class="trouble" role="alert">
      <Icon name="warn" />
      <div>
        <p>{refusal.message}</p>
        {seconds > 0 && <p class="quiet">{t(connectionTexts.waitSeconds, { seconds })}</p>}
        {refusal.status >= 500 && refusal.requestId && (
          <p class="quiet">{t(connectionTexts.requestId, { id: refusal.requestId })}</p>
        )}
      </div>
      {refusal.reason === "SIGN_IN_NOT_FRESH" && (
        // The server checks the age of the sign-in, and a new sign-in restarts it.
        <Button onClick={() => goToSignIn({ max_age: "0" })}>{t(shellTexts.signIn)}</Button>
      )}
      {refusal.reason === "OWN_ACCOUNT_IN_CONSOLE" && <LinkButton href="/account">{t(shellTexts.account)}</LinkButton>}
      {retry && (
        <Button onClick={retry} disabled={seconds > 0}>
          {t(connectionTexts.tryAgain)}
        </Button>
      )}
    </div>
  );
}

/** The seconds until a time, counting down. */
function useCountdown(until: number | undefined): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    now.value = Date.now();
    if (until === undefined) return undefined;
    const timer = setInterval(() => {
      now.value = Date.now();
      if (now.value >= until) clearInterval(timer);
    }, 500);
    return () => clearInterval(timer);
  }, [until]);
  return until === undefined ? 0 : Math.max(0, Math.ceil((until - now.value) / 1000));
}
