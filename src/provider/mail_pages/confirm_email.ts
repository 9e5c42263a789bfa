import type { HttpRoute, Response } from "@postern/gateway";
import { reasonOf } from "../../errors.ts";
import { pageText } from "../../messages/page.ts";
import { openEmailLink } from "../../security/mailed_secret.ts";
import { emailVerification } from "../../services/users/email.ts";
import type { Parameters } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import { hidden, html } from "../pages/html.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { callOf } from "../request/endpoint.ts";
import { codeMoved, hasWord, type PlainPage, plainResponse, plainRoute } from "./plain_page.ts";

const path = paths.confirmEmail;

/** The route behind the link that verifies an email address. Only submitting its form does so, because mail scanners open links. */
export function confirmEmailRoute(parts: ProviderParts): HttpRoute {
  const { deps, settings } = parts;
  const verify = emailVerification(deps, settings);
  return plainRoute(parts, { path, show, submit });

  async function submit(page: PlainPage, form: Parameters): Promise<Response> {
    const proof = openEmailLink(deps.secrets.keyring, form.get("link") ?? "");
    if (!proof) return overPage(page);
    try {
      await verify(proof, callOf(page.http));
    } catch (error) {
      // Opening a link twice is fine: it has already done its work.
      if (reasonOf(error) !== "EMAIL_VERIFIED") return refusedPage(page, error);
    }
    return redirect(`${path}?done=1`, { cookies: [page.drop("link")] });
  }
}

function show(page: PlainPage): Response {
  if (hasWord(page, "done")) return plainResponse(page, { title: "confirmed_title", texts: ["close_text"] });
  const moved = codeMoved(page, "link", (link) => link);
  if (moved) return moved;
  const link = page.cookie("link");
  return link === undefined ? overPage(page) : confirmPage(page, link);
}

const confirmPage = (page: PlainPage, link: string): Response =>
  plainResponse(page, {
    title: "confirm_title",
    texts: ["confirm_text"],
    body: html`<form method="post" action="${path}">
${page.form.hidden}${hidden("link", link)}
<button name="action" value="confirm">${pageText("confirm", page.language)}</button>
</form>`,
  });

/** The page for a link whose code is no longer valid, or whose user is gone. */
function refusedPage(page: PlainPage, error: unknown): Response {
  switch (reasonOf(error)) {
    case "CODE_INVALID":
    case "CODE_EXPIRED":
    case "CODE_ATTEMPTS":
    case "USER_NOT_FOUND":
    case "USER_NOT_HUMAN":
      noteRefusal(page.http.values, error);
      return overPage(page);
    default:
      throw error;
  }
}

const overPage = (page: PlainPage): Response =>
  plainResponse(page, {
    status: 400,
    title: "confirm_title",
    problems: [pageText("link_over", page.language)],
  });
