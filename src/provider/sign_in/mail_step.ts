import type { HttpRequest, Response } from "@postern/gateway";
import { pageText } from "../../messages/page.ts";
import { isCookieValue } from "../http/cookies.ts";
import { bounded } from "../http/parameters.ts";
import { organizationIn } from "../pages/organization_field.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import { organizationOfRequest } from "../request/authorization_request.ts";
import { callOf } from "../request/endpoint.ts";
import { wantsFactor } from "../request/requested_class.ts";
import { hashesOfKnown } from "./known_browser.ts";
import { limitProblem, mailProblem } from "./sign_in_problem.ts";
import { type Answering, longestName, longestPassword, longestToken, type Submitted, signedIn } from "./submitted.ts";

const longestCode = 200;

/**
 * Asks for a mail with a code, and for the code. The waiting sign-in is kept in cookies, so that the mail's link continues in this browser
 * only. Whether that is possible depends on the organization of the name, never on whether a user has the name.
 */
export async function askMail(on: Answering, http: HttpRequest, submitted: Submitted): Promise<Response> {
  const { signIns, steps } = on;
  const { form, step, proven } = submitted;
  const loginName = bounded(form, "login_name", longestName)?.trim() ?? "";
  const organization = organizationIn(form);
  const typed = { loginName, organization };
  if (loginName === "") return steps.askPassword(proven, step, { ...typed, ...missing("name_missing", submitted) });
  const call = callOf(http);
  const organizationId = organizationOfRequest(proven, step.parameters);
  const asked = { loginName, organizationId, organization };
  if (!(await steps.offersMail(asked, call.signal)))
    return steps.askPassword(proven, step, { ...typed, ...missing("mail_off", submitted) });
  try {
    const named = await on.namesOf(asked, call.signal);
    const { challengeToken, until } = await signIns.mails.start(
      { loginName, organizationId: named, browsers: hashesOfKnown(step.known) },
      call,
    );
    const waiting = keptUntil(steps.jar, until, { challenge: challengeToken, request: form.get("request") ?? "" });
    return steps.askMailCode(
      proven,
      { ...step, cookies: [...step.cookies, ...waiting] },
      { challengeToken, loginName },
    );
  } catch (error) {
    const problem = limitProblem(error, step.language);
    if (!problem) throw error;
    noteRefusal(http.values, error);
    return steps.askPassword(proven, step, { ...problem, ...typed });
  }
}

/** Takes the code of a mail, which replaces the password. */
export async function mailCode(on: Answering, http: HttpRequest, submitted: Submitted): Promise<Response> {
  const { signIns, steps, kindOf } = on;
  const { form, step, proven } = submitted;
  const challengeToken = bounded(form, "challenge", longestToken) ?? "";
  const loginName = bounded(form, "login_name", longestName) ?? "";
  const code = bounded(form, "code", longestCode) ?? "";
  const newPassword = bounded(form, "new_password", longestPassword);
  if (code.trim() === "")
    return steps.askMailCode(proven, step, { challengeToken, loginName, ...missing("mail_code_missing", submitted) });
  try {
    const enrolment = wantsFactor(step.parameters) ? "wanted" : "required";
    const kind = kindOf({ earlier: step.sessions, enrolment });
    const outcome = await signIns.mails.complete({ challengeToken, code, newPassword, call: callOf(http) }, kind);
    const used = { ...step, cookies: [...step.cookies, steps.jar.clear("challenge"), steps.jar.clear("mailed")] };
    if ("pending" in outcome) return steps.askFactor(proven, used, outcome);
    return await signedIn(on, outcome.answer, { step: used, proven });
  } catch (error) {
    const problem = mailProblem(error, step.language, newPassword !== undefined);
    if (!problem) throw error;
    noteRefusal(http.values, error);
    const { isOver, ...state } = problem;
    if (isOver) return steps.askPassword(proven, step, { ...state, loginName });
    return steps.askMailCode(proven, step, {
      challengeToken,
      loginName,
      ...state,
      ...(state.isChange ? { code } : {}),
    });
  }
}

const missing = (text: "name_missing" | "mail_off" | "mail_code_missing", { step }: Submitted) => ({
  status: 400,
  problems: [pageText(text, step.language)],
});

type Waiting = Readonly<Record<"challenge" | "request", string>>;

/** The headers of the cookies that wait for a mail's link; none if the browser would not store them. */
function keptUntil(jar: Answering["steps"]["jar"], until: Date, waiting: Waiting): readonly string[] {
  const { challenge, request } = waiting;
  if (!isCookieValue("challenge", challenge) || !isCookieValue("request", request)) return [];
  return [jar.set("challenge", challenge, until), jar.set("request", request, until)];
}
