import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { durationText, pageText } from "../../messages/page.ts";
import { newToken } from "../../security/token.ts";
import { shownUserCode } from "../../security/user_code.ts";
import { formIn, formMaxBytes, type Parameters, parametersIn } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { brandsRead } from "../pages/brand_read.ts";
import { languageOf } from "../pages/language.ts";
import { refuseForeign } from "../pages/own_address.ts";
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
  const brands = brandsRead(deps.sql);

  return {
    path: paths.device,
    methods: ["GET", "POST"],
    bodyMaxBytes: formMaxBytes,
    handle: (http) => (http.method === "POST" ? entered(http) : begun(http)),
  };

  function begun(http: HttpRequest): Promise<Response> {
    return askCode(http, { userCode: codeIn(parametersIn(http.query)) });
  }

  async function entered(http: HttpRequest): Promise<Response> {
    refuseForeign(http, issuer());
    const form = formIn(http.headers, http.body);
    const browser = steps.jar.read(http.headers.cookie, "browser") ?? "";
    const userCode = codeIn(form);
    if (!isFormToken(keyring, formOf(browser), form.get("token"))) throw formExpired(deviceBeginning(userCode));
    const outcome = await guess(userCode, callOf(http));
    const language = languageOf(http);
    if (outcome === undefined)
      return askCode(http, { userCode, status: 400, problems: [pageText("device_unknown", language)] });
    if ("waitSeconds" in outcome) {
      const wait = pageText("attempts", language, { wait: durationText(outcome.waitSeconds, language) });
      return askCode(http, { userCode, status: 429, problems: [wait] });
    }
    return found(http, deviceQuery(outcome.deviceId, userCode));
  }

  async function found(http: HttpRequest, query: string): Promise<Response> {
    const parameters = parametersIn(query);
    return steps.proceed(await steps.prove(parameters, http), stepOf(steps.jar, http, { parameters, query }));
  }

  async function askCode(http: HttpRequest, state: Pick<CodeState, "userCode" | "status" | "problems">) {
    const browser = steps.jar.read(http.headers.cookie, "browser") ?? newToken("ob");
    const look = {
      language: languageOf(http),
      brand: await brands.ofInstance(),
      here: deviceBeginning(state.userCode),
      cookies: [steps.jar.set("browser", browser)],
    };
    return deviceCodeForm({ ...look, ...state, token: formToken(keyring, formOf(browser)) });
  }
}

const codeIn = (parameters: Parameters): string =>
  shownUserCode(parameters.get("user_code")?.slice(0, longestCode) ?? "");

const formOf = (browser: string) => ({ browser, request: "code of a device", sessionId: "" });
