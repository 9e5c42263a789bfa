import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { LocationProvider } from "preact-iso";
import { Refusal } from "../calls/refusal.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Trouble } from "../parts/trouble.tsx";
import { isAdministrator, me, readMe } from "../sign_in/me.ts";
import { begin, goToSignIn, standing, token } from "../sign_in/sign_in.ts";
import { shellTexts } from "../texts/shell.ts";
import { t } from "../texts/text.ts";
import { Frame } from "./frame.tsx";
import { Notice } from "./notice.tsx";
import { SessionEnded } from "./session_ended.tsx";

/** The console: the obstacle to a sign-in, or the frame with its pages. */
export function Console() {
  const refusal = useSignal<Refusal | undefined>(undefined);
  const isSignedIn = token.value !== undefined;
  const read = async () => {
    refusal.value = undefined;
    await readMe().catch((error: unknown) => {
      if (error instanceof Refusal) refusal.value = error;
      else throw error;
    });
  };
  useEffect(() => {
    if (isSignedIn) void read();
  }, [token.value]);

  if (me.value && isAdministrator.value)
    return (
      <LocationProvider scope="/console">
        <Frame />
        {standing.value.is === "ended" && <SessionEnded />}
      </LocationProvider>
    );
  if (refusal.value)
    return (
      <Notice title={t(shellTexts.refused)}>
        <Trouble refusal={refusal.value} retry={read} />
      </Notice>
    );
  if (me.value)
    return (
      <Notice title={t(shellTexts.noRole)} about={t(shellTexts.noRoleAbout)}>
        <LinkButton kind="main" href="/account">
          {t(shellTexts.account)}
        </LinkButton>
      </Notice>
    );
  return <Arriving />;
}

function Arriving() {
  const now = standing.value;
  if (now.is === "without issuer")
    return <Notice title={t(shellTexts.withoutIssuer)} about={t(shellTexts.withoutIssuerAbout)} />;
  if (now.is === "away")
    return (
      <Notice title={t(shellTexts.refused)}>
        <Trouble refusal={now.refusal} retry={begin} />
      </Notice>
    );
  if (now.is === "refused" || now.is === "ended")
    return (
      <Notice
        title={t(now.is === "ended" ? shellTexts.ended : shellTexts.refused)}
        about={now.is === "refused" ? now.error : ""}
      >
        <Button kind="main" onClick={() => goToSignIn()}>
          {t(shellTexts.signIn)}
        </Button>
      </Notice>
    );
  return (
    <p class="arriving" role="status">
      {t(shellTexts.signingIn)}
    </p>
  );
}
