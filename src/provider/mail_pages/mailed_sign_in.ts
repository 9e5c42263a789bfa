import type { HttpRoute, Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import { groupedCode, normalizeCode } from "../../security/code.ts";
import { parametersIn } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { html } from "../pages/html.ts";
import type { ProviderParts } from "../parts.ts";
import { stepOf } from "../sign_in/browser_step.ts";
import type { SignInSteps } from "../sign_in/steps.ts";
import { codeMoved, type PlainPage, plainResponse, plainRoute } from "./plain_page.ts";

/**
 * The route of the link in a mail with a code to sign in. It only shows the code: in the browser that asked for it, as a form to submit,
 * and in any other, such as a mail scanner, to be typed where it was asked for. Nothing but that form uses the code.
 */
export function mailedSignInRoute(parts: ProviderParts, steps: SignInSteps): HttpRoute {
  const show = async (page: PlainPage) => codeMoved(page, "mailed", normalizeCode) ?? waiting(page, steps);
  return { ...plainRoute(parts, { path: paths.mailedSignIn, show, submit: show }), methods: ["GET", "HEAD"] };
}

async function waiting(page: PlainPage, steps: SignInSteps): Promise<Response> {
  const { http, pending: query } = page;
  const [challengeToken, code] = [page.cookie("challenge"), page.cookie("mailed")];
  if (challengeToken === undefined || query === undefined) return elsewhere(page, code);
  const parameters = parametersIn(query);
  const proven = await steps.prove(parameters, http);
  const step = stepOf(steps.jar, http, { parameters, query });
  return steps.askMailCode(proven, step, { challengeToken, loginName: "", code });
}

/** The page in a browser in which nobody asked for a code. */
const elsewhere = (page: PlainPage, code: string | undefined): Response =>
  code === undefined
    ? plainResponse(page, { status: 400, title: "mailed_title", problems: [pageText("link_over", page.language)] })
    : plainResponse(page, {
        title: "mailed_title",
        texts: ["mailed_elsewhere"],
        body: html`<p><code class="shown">${groupedCode(code)}</code></p>
<p class="note">${pageText("mailed_warning", page.language)}</p>`,
      });
