import type { HttpRoute, Response } from "@postern/gateway";
import { RequestRegistrationRequestSchema } from "../../../gen/postern/v1/registration_pb.ts";
import { reasonOf } from "../../errors.ts";
import { pageText } from "../../messages/page.ts";
import { normalizeCode } from "../../security/code.ts";
import { hashToken } from "../../security/token.ts";
import {
  type OpenRegistration,
  type Registered,
  registrationCompletions,
} from "../../services/registrations/complete_registration.ts";
import { registrationRequests, registrationRules } from "../../services/registrations/request_registration.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import type { NewPerson } from "../../services/users/joining_user.ts";
import { requestsOf } from "../account/account_attempt.ts";
import { bounded, type Parameters, parametersIn } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import { personIn, personProblem, typedIn } from "../mail_pages/person_form.ts";
import { codeMoved, hasWord, type PlainPage, plainRoute } from "../mail_pages/plain_page.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import { callOf } from "../request/endpoint.ts";
import { wantsFactor } from "../request/requested_class.ts";
import { browserSessions } from "../sign_in/browser_session.ts";
import { stepOf } from "../sign_in/browser_step.ts";
import { knownBrowsers } from "../sign_in/known_browser.ts";

import type { SignInSteps } from "../sign_in/steps.ts";
import { type Enrolling, signedIn } from "../sign_in/submitted.ts";
import { askPage, codePage, donePage, nowherePage, overPage, personPage, sentPage } from "./registration_page.ts";

type Parts = ProviderParts & { readonly signIns: SignIns };

/**
 * The routes on which people create an account of their own, on the way to an application: one asks for the address, the other, behind the
 * link in the mail, for the rest.
 */
export const registrationRoutes = (parts: Parts, steps: SignInSteps, enrolment: Enrolling): readonly HttpRoute[] => [
  askRoute(parts),
  completeRoute(parts, steps, enrolment),
];

const longestEmail = 200;

/** The response does not depend on whether an account exists. The authorization request waits sealed in a cookie. */
function askRoute(parts: ProviderParts): HttpRoute {
  const path = paths.register;
  const request = registrationRequests(parts.deps, parts.settings);
  const checked = requestsOf(registrationRules);
  return plainRoute(parts, { path, show, submit });

  function show(page: PlainPage): Response {
    if (hasWord(page, "sent")) return sentPage(page);
    const organizationId = page.proven?.registersIn;
    return organizationId === undefined ? nowherePage(page) : askPage(page, { organizationId, ...hintOf(page) });
  }

  async function submit(page: PlainPage, form: Parameters): Promise<Response> {
    const waiting = form.get("request");
    if (waiting !== undefined) return redirect(path, { cookies: page.keep("request", waiting) });
    const organizationId = page.proven?.registersIn;
    if (organizationId === undefined) return nowherePage(page);
    const email = bounded(form, "email", longestEmail)?.trim() ?? "";
    // Another tab may have begun another sign-in since.
    if (form.get("organization") !== organizationId) return askPage(page, { organizationId, email });
    try {
      const asked = checked(RequestRegistrationRequestSchema, { organizationId, email });
      await request({ organizationId, email: asked.email, browser: page.cookie("browser") ?? "" }, callOf(page.http));
      return redirect(`${path}?sent=1`, { cookies: [] });
    } catch (error) {
      const { status, problems } = personProblem(error, page.language, "register_over");
      noteRefusal(page.http.values, error);
      const isMalformed = ["VALIDATION_FAILED", "EMAIL_INVALID"].includes(reasonOf(error) ?? "");
      const said = isMalformed ? [pageText("email_wrong", page.language)] : problems;
      return askPage(page, { organizationId, status, email, problems: said });
    }
  }
}

/** The address that the application expects, if it names one. */
function hintOf({ pending = "" }: PlainPage): { readonly email?: string } {
  const hint = parametersIn(pending).get("login_hint")?.slice(0, longestEmail);
  return hint?.includes("@") ? { email: hint } : {};
}

/** Only submitting the form uses the code up, because mail scanners open links. */
function completeRoute(parts: Parts, steps: SignInSteps, enrolment: Enrolling): HttpRoute {
  const path = paths.completeRegistration;
  const { open, complete } = registrationCompletions(parts.deps, parts.settings);
  const goOn = goingOn(parts, steps, enrolment);
  return plainRoute(parts, { path, show, submit });

  function show(page: PlainPage): Response | Promise<Response> {
    if (hasWord(page, "done")) return donePage(page);
    return codeMoved(page, "registration", normalizeCode) ?? opened(page, async (one) => personPage(page, one, {}));
  }

  function submit(page: PlainPage, form: Parameters): Promise<Response> {
    return opened(page, async (registration) => {
      // Another tab may have opened another link since.
      if (form.get("registration") !== registration.id) return personPage(page, registration, { typed: typedIn(form) });
      const person = personIn(form);
      const registered = await attempted(() => complete(registration, person, callOf(page.http)));
      if ("userId" in registered) return goOn(page, { registration, registered, person });
      const problem = personProblem(registered.error, page.language, "register_over");
      noteRefusal(page.http.values, registered.error);
      const asksName = person.username !== "" || problem.fields.includes("username");
      return personPage(page, registration, { ...problem, typed: typedIn(form), asksName });
    });
  }

  /** Looks up the registration that the browser has the code of. */
  async function opened(
    page: PlainPage,
    work: (registration: OpenRegistration) => Promise<Response>,
  ): Promise<Response> {
    const code = page.cookie("registration");
    if (code === undefined) return codePage(page);
    const found = await attempted(() => open(code, callOf(page.http)));
    if ("id" in found) return work(found);
    noteRefusal(page.http.values, found.error);
    return overPage(page, personProblem(found.error, page.language, "register_over"));
  }
}

const attempted = <T>(work: () => Promise<T>): Promise<T | { readonly error: unknown }> =>
  work().catch((error: unknown) => ({ error }));

/** A completed registration, with the password that was typed. */
type Completed = {
  readonly registration: OpenRegistration;
  readonly registered: Registered;
  readonly person: NewPerson;
};

/**
 * Makes the step after the registration. The browser that began it is signed in and sent on to the application; any other is told to go
 * back, because somebody else may have opened the link.
 */
function goingOn(parts: Parts, steps: SignInSteps, enrolment: Enrolling) {
  const { deps, settings, signIns } = parts;
  const remember = knownBrowsers(parts);
  const kindOf = browserSessions(deps, settings);

  return async (page: PlainPage, { registration, registered, person }: Completed): Promise<Response> => {
    const { userId, passwordSet, username: loginName } = registered;
    const { known, cookie } = await remember(page.known, { userId, passwordSet });
    const cookies = [page.drop("registration"), cookie];
    const { http, pending, proven } = page;
    const done = redirect(`${paths.completeRegistration}?done=1`, { cookies });
    if (pending === undefined || proven === undefined || !isSameBrowser(page, registration)) return done;
    const step = { ...stepOf(steps.jar, http, { parameters: parametersIn(pending), query: pending }), known, cookies };
    const kind = kindOf({ earlier: step.sessions, enrolment: wantsFactor(step.parameters) ? "wanted" : "required" });
    const asked = { loginName, organizationId: registration.owner, password: person.password };
    const request = { ...asked, newPassword: undefined, browsers: [], call: step };
    // The account exists; if the sign-in fails, its user can try again.
    const outcome = await signIns.signIn(request, kind).catch(() => undefined);
    if (outcome === undefined || "pending" in outcome) return done;
    return signedIn({ steps, enrolment }, outcome.answer, { step, proven });
  };
}

const isSameBrowser = ({ cookie }: PlainPage, { browser }: OpenRegistration): boolean => {
  const now = cookie("browser");
  return now !== undefined && hashToken(now).toString("hex") === browser;
};
