import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import type { Language } from "../../messages/language.ts";
import { durationText, pageText } from "../../messages/page.ts";
import { newToken } from "../../security/token.ts";
import { shownUserCode } from "../../security/user_code.ts";
import { formIn, formMaxBytes, type Parameters, parametersIn } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { browserLanguage } from "../pages/language.ts";
import { refuseForeign } from "../pages/own_address.ts";
import { shown } from "../pages/shown.ts";
import type { ProviderParts } from "../parts.ts";
import { formExpired } from "../request/begin_again.ts";
import { deviceBeginning, deviceQuery } from "../request/device_request.ts";
import { callOf } from "../request/endpoint.ts";
import { formToken, isFormToken } from "../request/sealed_request.ts";
import { stepOf } from "../sign_in/browser_step.ts";
import type { SignInSteps } from "../sign_in/steps.ts";
import { type CodeState, deviceCodeForm } from "./device_code_form.ts";
import { deviceGuesses } from "./device_guess.ts";

const longestCode = 40;

/**
 * The page on which a user enters the code of a device (RFC 8628, 3.3). It looks up no code before the form is submitted. What follows is
 * an ordinary sign-in, whose outcome the device polls for.
 */
export function deviceRoute(parts: ProviderParts, steps: SignInSteps): HttpRoute {
  const { deps, settings, issuer } = parts;
  const { keyring } = deps.secrets;
  const guess = deviceGuesses(deps, settings);

  return {
    path: paths.device,
    methods: ["GET", "POST"],
    bodyMaxBytes: formMaxBytes,
    handle(http) {
      const language = browserLanguage(http);
      return shown(http, { language }, async () =>
        http.method === "POST" ? entered(http, language) : begun(http, language),
      );
    },
  };

  function begun(http: HttpRequest, language: Language): Response {
    return askCode(http, { language, userCode: codeIn(parametersIn(http.query)) });
  }

  async function entered(http: HttpRequest, language: Language): Promise<Response> {
    refuseForeign(http, issuer());
    const form = formIn(http.headers, http.body);
    const browser = steps.jar.read(http.headers.cookie, "browser") ?? "";
    const userCode = codeIn(form);
    if (!isFormToken(keyring, formOf(browser), form.get("token"))) throw formExpired(deviceBeginning(userCode));
    const outcome = await guess(userCode, callOf(http));
    if (outcome === undefined)
      return askCode(http, { language, userCode, status: 400, problems: [pageText("device_unknown", language)] });
    if ("waitSeconds" in outcome) {
      const wait = pageText("attempts", language, { wait: durationText(outcome.waitSeconds, language) });
      return askCode(http, { language, userCode, status: 429, problems: [wait] });
    }
    return found(http, deviceQuery(outcome.deviceId, userCode));
  }

  async function found(http: HttpRequest, query: string): Promise<Response> {
    const parameters = parametersIn(query);
    return steps.proceed(await steps.prove(parameters, http), stepOf(steps.jar, http, { parameters, query }));
  }

  function askCode(http: HttpRequest, state: Omit<CodeState, "token" | "cookies">): Response {
    const browser = steps.jar.read(http.headers.cookie, "browser") ?? newToken("ob");
    const cookies = [steps.jar.set("browser", browser)];
    return deviceCodeForm({ ...state, token: formToken(keyring, formOf(browser)), cookies });
  }
}

const codeIn = (parameters: Parameters): string =>
  shownUserCode(parameters.get("user_code")?.slice(0, longestCode) ?? "");

const formOf = (browser: string) => ({ browser, request: "code of a device", sessionId: "" });
