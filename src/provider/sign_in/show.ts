import type { Response } from "@postern/gateway";
import type { Deps } from "../../deps.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import { type CookieJar, cookieJar } from "../http/cookies.ts";
import type { ProviderParts } from "../parts.ts";
import {
  type AuthorizationRequest,
  organizationOfRequest,
  type ProvenRequest,
} from "../request/authorization_request.ts";
import { beginningOf } from "../request/begin_again.ts";
import { formSeconds, formToken, sealRequest } from "../request/sealed_request.ts";
import { type ClientSession, typedName } from "./browser_session.ts";
import type { BrowserStep } from "./browser_step.ts";
import { accountsForm, consentForm } from "./choice_form.ts";
import { askedScopes, consentNamesRead, resourceSentences, scopeSentences } from "./consent.ts";
import type { Step } from "./decision.ts";
import { deviceConfirmation } from "./device_form.ts";
import { type FactorState, factorForm } from "./factor_form.ts";
import { type MailState, mailForm } from "./mail_form.ts";
import { mailOffers } from "./names_of_page.ts";
import { registrationStep } from "./registration_step.ts";
import { confirmationForm, type Form, type PasswordState, passwordForm } from "./sign_in_form.ts";

/** A step that shows a page. */
export type PageStep = Exclude<Step, { readonly is: "response" }>;

export type SignInPages = ReturnType<typeof signInPages>;

/** The state of the password page, and the login name prefilled in its form. */
type PasswordQuestion = Partial<PasswordState> & { readonly loginHint?: string };

/** Makes the pages of a sign-in, each of which returns its request, sealed. */
export function signInPages({ deps, issuer, signIns }: ProviderParts & { readonly signIns: SignIns }) {
  const formOf = formMaker(deps, cookieJar(issuer));
  const namesOf = consentNamesRead(deps.sql);
  const offersMail = mailOffers(deps.sql);
  const toRegistration = registrationStep(deps, cookieJar(issuer));

  return { askPassword, askFactor, askMailCode, offersMail, show };

  async function show(request: AuthorizationRequest, step: BrowserStep, next: PageStep): Promise<Response> {
    switch (next.is) {
      case "registration":
        return toRegistration(step) ?? askPassword(request, step, { loginHint: request.loginHint });
      case "password":
        return askPassword(request, step, { loginHint: hintOf(request, next.session) });
      case "factor":
        return askFurther(request, step, next.session);
      case "accounts":
        return accountsForm(formOf(request, step, ""), next.sessions);
      case "consent":
        return askConsent(request, step, next.session);
      case "confirmation":
        return confirmation(request, formOf(request, step, next.session.sessionId), next.session);
    }
  }

  async function askPassword(proven: ProvenRequest, step: BrowserStep, state: PasswordQuestion): Promise<Response> {
    const { loginName = state.loginHint ?? "", problems = [], isChange = false, status = 200 } = state;
    const passkey = signIns.passkeys.isPossible ? signIns.passkeys.start(formSeconds) : undefined;
    const requested = organizationOfRequest(proven, step.parameters);
    const organization = requested === undefined ? (state.organization ?? "") : undefined;
    const typed = { loginName, organizationId: requested, organization: organization ?? "" };
    const hasMail = await offersMail(typed, step.signal);
    const shown = { status, loginName, organization, problems, isChange, passkey, hasMail };
    return passwordForm(formOf(proven, step, ""), shown);
  }

  function askFactor(proven: ProvenRequest, step: BrowserStep, state: FactorState): Response {
    return factorForm(formOf(proven, step, ""), state);
  }

  function askMailCode(proven: ProvenRequest, step: BrowserStep, state: MailState): Response {
    return mailForm(formOf(proven, step, ""), state);
  }

  /** Asks a signed-in user for a factor, or for the password if that is not possible. */
  async function askFurther(request: AuthorizationRequest, step: BrowserStep, session: ClientSession) {
    const pending = await signIns.pending.beginAgain(session, step);
    return pending
      ? askFactor(request, step, { pending })
      : askPassword(request, step, { loginHint: hintOf(request, session) });
  }

  async function askConsent(request: AuthorizationRequest, step: BrowserStep, session: ClientSession) {
    const { owner, organization } = await namesOf(request, session, step.signal);
    const ours = scopeSentences(askedScopes(request), organization, step.language);
    const sentences = [...ours, ...resourceSentences(request, step.language)];
    return consentForm(formOf(request, step, session.sessionId), { organization: owner, sentences, session });
  }
}

const hintOf = ({ loginHint, organizationId }: AuthorizationRequest, session: ClientSession | undefined): string =>
  loginHint || (session ? typedName(session, organizationId) : "");

/** Makes the forms of a sign-in, which return its request, sealed. */
function formMaker({ secrets, clock }: Pick<Deps, "secrets" | "clock">, jar: CookieJar) {
  return (proven: ProvenRequest, step: BrowserStep, sessionId: string): Form => {
    const { query, browser, language } = step;
    const { brand } = proven;
    const request = sealRequest(secrets.keyring, query, clock());
    const isSignedIn = sessionId !== "" && step.isSignedIn;
    const token = formToken(secrets.keyring, { browser, request, sessionId, isSignedIn });
    const cookies = [...step.cookies, jar.set("browser", browser)];
    return { proven, brand, here: beginningOf(query), language, request, token, cookies };
  };
}

function confirmation(request: AuthorizationRequest, form: Form, { qualifiedName: name }: ClientSession): Response {
  const sentences = resourceSentences(request, form.language);
  return request.device ? deviceConfirmation(form, request.device, { name, sentences }) : confirmationForm(form, name);
}
