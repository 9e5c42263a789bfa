import type { Response } from "@postern/gateway";
import type { oneAtATime } from "../../security/one_at_a_time.ts";
import type { documentApplications } from "../../services/applications/document_application.ts";
import type { consents } from "../../services/consents/consent.ts";
import type { SignIns } from "../../services/sessions/sign_in.ts";
import type { Parameters } from "../http/parameters.ts";
import type { ProviderParts } from "../parts.ts";
import type { ProvenRequest } from "../request/authorization_request.ts";
import type { BegunBrowserSession, browserSessions } from "./browser_session.ts";
import type { BrowserStep } from "./browser_step.ts";
import type { namesOfPage } from "./names_of_page.ts";
import type { SignInSteps } from "./steps.ts";

/** Begins the enrolment of a factor during a sign-in. */
export type Enrolling = {
  readonly begin: (proven: ProvenRequest, step: BrowserStep, session: BegunBrowserSession) => Response;
};

/** The dependencies of the handlers of the sign-in forms. */
export type Answering = Pick<ProviderParts, "deps" | "issuer"> & {
  readonly signIns: SignIns;
  readonly steps: SignInSteps;
  readonly enrolment: Enrolling;
  readonly kindOf: ReturnType<typeof browserSessions>;
  readonly give: ReturnType<typeof consents>;
  readonly admit: ReturnType<typeof documentApplications>;
  /** Runs the consents of a user one after another. */
  readonly inTurn: ReturnType<typeof oneAtATime>;
  readonly namesOf: ReturnType<typeof namesOfPage>;
};

/** A proven request, and the browser that sent it. */
export type Asked = { readonly step: BrowserStep; readonly proven: ProvenRequest };

export type Submitted = Asked & { readonly form: Parameters };

// The same as in calls: a user with a longer name or password could only sign in here.
export const longestName = 200;
export const longestPassword = 1000;
export const longestToken = 1_000;

/** Continues with a new session, which replaces the one that its user had in the browser. */
export async function signedIn(
  { steps, enrolment }: Pick<Answering, "steps" | "enrolment">,
  begun: BegunBrowserSession,
  { step, proven }: Asked,
): Promise<Response> {
  const sessions = await steps.sessionsOf(step, proven.client);
  const others = sessions.filter(({ userId }) => userId !== begun.userId);
  const cookies = [...step.cookies, ...steps.jar.setSessions([begun, ...others], step.sessions)];
  const signed = { ...step, cookies };
  return begun.enrolmentOnly ? enrolment.begin(proven, signed, begun) : steps.signedIn(proven, signed, begun);
}
