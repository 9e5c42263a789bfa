import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import type { Call } from "../../deps.ts";
import { refuse } from "../../errors.ts";
import { retry } from "../../guards/retry.ts";
import { pageText } from "../../messages/page.ts";
import { isFreshSignIn } from "../../services/callers/fresh_sign_in.ts";
import { enrollingUser } from "../../services/factors/enrolling_user.ts";
import { factorService } from "../../services/factors/factor.ts";
import { totpQuestion } from "../../services/factors/totp_enrolment.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import { bounded, formIn, formMaxBytes, type Parameters, parametersIn } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import type { Brand } from "../pages/brand.ts";
import { type Brands, brandsRead } from "../pages/brand_read.ts";
import { noteBrand } from "../pages/look.ts";
import { refuseForeign } from "../pages/own_address.ts";
import { noteRefusal } from "../pages/request_notes.ts";
import type { ProviderParts } from "../parts.ts";
import type { ProvenRequest } from "../request/authorization_request.ts";
import { beginningOf, formExpired, queryOf } from "../request/begin_again.ts";
import { ownClient } from "../request/own_client.ts";
import { formToken, isFormToken, sealRequest } from "../request/sealed_request.ts";
import { type BrowserSession, type ClientSession, enrollingSessionsRead } from "../sign_in/browser_session.ts";
import { type BrowserStep, stepOf } from "../sign_in/browser_step.ts";
import { credentialIn } from "../sign_in/factor_answer.ts";
import type { SignInSteps } from "../sign_in/steps.ts";
import { callOfUser } from "../sign_in/user_call.ts";
import { closedPage } from "./account_page.ts";
import { type Attempt, addedPage, appForm, choiceForm, type EnrolmentForm, newPasskeyForm } from "./enrolment_form.ts";
import { enrolmentProblem } from "./enrolment_problem.ts";
import { freshSignIn, isCancelled, signInTo } from "./own_sign_in.ts";
import { qrCode } from "./qr_code.ts";

type Parts = ProviderParts & { readonly signIns: SignIns };

/** An enrolment: the browser, its session, and the sign-in that continues afterwards, if any. */
type Enrolment = {
  readonly step: BrowserStep;
  readonly sessionId: string;
  readonly proven: ProvenRequest | undefined;
  readonly brand: Brand;
};

/** A submitted enrolment form, the session it was shown to, and the call that its user makes with it. */
type Submission = {
  readonly http: HttpRequest;
  readonly enrolment: Enrolment;
  readonly session: ClientSession;
  readonly form: Parameters;
  readonly call: Call;
};

type Choosing = Pick<Submission, "enrolment" | "call">;

/** The app that an enrolment is about to add, and the failed attempt, if any. */
type AppToAdd = { readonly secret: string; readonly uri: string; readonly attempt?: Attempt };

export type EnrolmentPages = ReturnType<typeof enrolmentPages>;

export const enrolmentRoute = (enrolment: EnrolmentPages): HttpRoute => ({
  path: paths.addFactor,
  methods: ["GET", "POST"],
  bodyMaxBytes: formMaxBytes,
  handle: (http) => (http.method === "POST" ? enrolment.submitted(http) : enrolment.opened(http)),
});

type Enrolling = Parts & {
  readonly steps: SignInSteps;
  readonly brands: Brands;
  readonly readSessions: ReturnType<typeof enrollingSessionsRead>;
  readonly userOf: ReturnType<typeof enrollingUser>;
  readonly factors: ReturnType<typeof factorService>;
  readonly question: ReturnType<typeof totpQuestion>;
};

/** Makes the pages on which users enrol factors: on their own initiative, or because a sign-in requires one. */
export function enrolmentPages(parts: Parts, steps: SignInSteps) {
  const { deps, settings, signIns } = parts;
  const on: Enrolling = {
    ...parts,
    steps,
    brands: brandsRead(deps.sql),
    readSessions: enrollingSessionsRead(deps.sql),
    userOf: enrollingUser(deps),
    factors: factorService(deps, settings),
    question: totpQuestion(deps, settings),
  };
  return {
    /** Asks a user without a factor to enrol one during a sign-in. */
    begin: (proven: ProvenRequest, step: BrowserStep, { sessionId }: Pick<BrowserSession, "sessionId">) =>
      choiceForm(
        formOf(on, { step, sessionId, proven, brand: proven.brand }),
        { app: true, passkey: signIns.passkeys.isPossible },
        {},
      ),
    opened: (http: HttpRequest) => opened(on, http),
    submitted: (http: HttpRequest) => submitted(on, http),
  };
}

/** Shows the page to users who signed in recently; others sign in first. */
async function opened(on: Enrolling, http: HttpRequest): Promise<Response> {
  const { deps, settings, steps } = on;
  const step = stepOf(steps.jar, http, { parameters: parametersIn(""), query: "" });
  const [session] = await steps.sessionsOf(step, ownClient);
  if (!session || !isFreshSignIn(session, settings, deps.clock()))
    return isCancelled(http) ? cancelled(on, step, session) : signIn(on, http, session);
  const brand = await on.brands.ofOrganization(session.owner);
  noteBrand(http.values, brand);
  return choice(on, {
    enrolment: { step, sessionId: session.sessionId, proven: undefined, brand },
    call: callOfUser(http, session),
  });
}

async function submitted(on: Enrolling, http: HttpRequest): Promise<Response> {
  const { deps, issuer, steps } = on;
  refuseForeign(http, issuer());
  const form = formIn(http.headers, http.body);
  const now = deps.clock();
  const query = form.get("request") ? queryOf(deps.secrets.keyring, form, { now, beginning: beginningOf }) : "";
  const step = stepOf(steps.jar, http, { parameters: parametersIn(query), query });
  const session = await clickedSession(on, form, step);
  const proven = query ? await steps.prove(step.parameters, http) : undefined;
  const brand = proven?.brand ?? (await on.brands.ofOrganization(session.owner));
  noteBrand(http.values, brand);
  const enrolment = { step, sessionId: session.sessionId, proven, brand };
  return form.get("action") === "done"
    ? done(on, enrolment)
    : answered(on, { http, enrolment, session, form, call: callOfUser(http, session) });
}

/** The session that a form was shown to; fails if the form comes from another site, browser or user. */
async function clickedSession(
  { deps, readSessions }: Enrolling,
  form: Parameters,
  { browser, sessions, signal, query }: BrowserStep,
): Promise<ClientSession> {
  const of = { browser, request: purposed(form.get("request") ?? "") };
  const all = await readSessions(sessions, ownClient, { now: deps.clock(), signal });
  const session = all.find(({ sessionId }) =>
    isFormToken(deps.secrets.keyring, { ...of, sessionId }, form.get("token")),
  );
  if (!session) throw formExpired(query ? beginningOf(query) : paths.addFactor);
  return session;
}

async function answered(on: Enrolling, submission: Submission): Promise<Response> {
  const { question, steps } = on;
  const { http, enrolment, session, call } = submission;
  try {
    return await step(on, submission);
  } catch (error) {
    const problem = enrolmentProblem(error, enrolment.step.language);
    if (!problem) throw error;
    noteRefusal(enrolment.step.values, error);
    if (problem.goesOn === "again") return appPage(on, enrolment, { ...(await question(call)), attempt: problem });
    if (problem.goesOn === "anew") return choice(on, submission, problem);
    return enrolment.proven ? steps.askPassword(enrolment.proven, enrolment.step, problem) : signIn(on, http, session);
  }
}

async function step(on: Enrolling, submission: Submission): Promise<Response> {
  const { factors } = on;
  const { enrolment, session, form, call } = submission;
  switch (form.get("action")) {
    case "app":
      refuseStale(on, session);
      return appPage(on, enrolment, await factors.startTotp({}, call));
    case "confirm_app":
      await factors.confirmTotp({ code: codeIn(form), name: nameIn(form) }, call);
      return added(on, enrolment, call);
    case "new_passkey":
      refuseStale(on, session);
      return newPasskeyForm(formOf(on, enrolment), (await factors.startPasskey({}, call)).options);
    case "passkey": {
      const answer = { credential: credentialIn(form) ?? {}, name: nameIn(form) };
      await factors.confirmPasskey(answer, call);
      return added(on, enrolment, call);
    }
    default:
      return choice(on, submission);
  }
}

function refuseStale({ deps, settings }: Enrolling, session: ClientSession): void {
  if (!isFreshSignIn(session, settings, deps.clock())) throw refuse.because("SIGN_IN_NOT_FRESH");
}

async function choice(on: Enrolling, { enrolment, call }: Choosing, attempt: Attempt = {}): Promise<Response> {
  const { userOf, signIns } = on;
  const { factors: held } = await userOf(call);
  const app = !held.some(({ kind }) => kind === "totp");
  return choiceForm(formOf(on, enrolment), { app, passkey: signIns.passkeys.isPossible }, attempt);
}

async function appPage(on: Enrolling, enrolment: Enrolment, { secret, uri, attempt = {} }: AppToAdd) {
  const drawing = await qrCode(uri, pageText("qr_label", enrolment.step.language));
  return appForm(formOf(on, enrolment), { secret, drawing }, attempt);
}

/** Shows recovery codes along with the first factor; later factors keep the existing codes. */
async function added(on: Enrolling, enrolment: Enrolment, call: Call): Promise<Response> {
  const { userOf, factors } = on;
  const { factors: held } = await userOf(call);
  // A page that lost a race runs again as a whole, and by then the factor is confirmed.
  const hasCodes = held.some(({ kind }) => kind === "recovery_codes");
  const { codes } = hasCodes ? { codes: [] } : await retry(() => factors.generateRecoveryCodes({}, call), call);
  return addedPage(formOf(on, enrolment), codes);
}

/** Continues the sign-in that required a factor. */
async function done(on: Enrolling, { step, proven, sessionId }: Enrolment): Promise<Response> {
  const { deps, settings, steps } = on;
  const sessions = await steps.sessionsOf(step, ownClient);
  const session = sessions.find((one) => one.sessionId === sessionId);
  if (!proven) throw formExpired(paths.addFactor);
  if (!session || !isFreshSignIn(session, settings, deps.clock())) return steps.askPassword(proven, step, {});
  return steps.signedIn(proven, step, session);
}

function signIn({ settings, steps }: Enrolling, http: HttpRequest, session?: ClientSession): Promise<Response> {
  return signInTo(steps, { http, path: paths.addFactor }, session ? freshSignIn(session, settings) : {});
}

function formOf({ deps, steps }: Enrolling, { step, sessionId, proven, brand }: Enrolment): EnrolmentForm {
  const { keyring } = deps.secrets;
  const { browser, language, query, cookies } = step;
  const request = query ? sealRequest(keyring, query, deps.clock()) : "";
  const token = formToken(keyring, { browser, request: purposed(request), sessionId });
  const here = query ? beginningOf(query) : paths.addFactor;
  return { proven, brand, here, language, request, token, cookies: [...cookies, steps.jar.set("browser", browser)] };
}

/** Binds tokens to these forms: tokens of the sign-in forms are invalid here, and vice versa. */
const purposed = (request: string) => `enrolment ${request}`;

/** The way back for users who did not sign in again: to the factors if somebody is signed in. */
async function cancelled({ brands }: Enrolling, { language }: BrowserStep, session: ClientSession | undefined) {
  if (session) return redirect(paths.accountFactors, { cookies: [] });
  return closedPage({ language, brand: await brands.ofInstance() }, paths.addFactor);
}

const longestName = 200;
const longestCode = 20;

const codeIn = (form: Parameters): string => bounded(form, "code", longestCode) ?? "";
const nameIn = (form: Parameters): string => bounded(form, "name", longestName)?.trim() ?? "";
