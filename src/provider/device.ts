import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { chooseLanguage } from "../messages/catalogue.ts";
import type { Language } from "../messages/language.ts";
import { pageText } from "../messages/page.ts";
import { newToken } from "../security/token.ts";
import { shownUserCode } from "../security/user_code.ts";
import { formExpired } from "./begin_again.ts";
import { type CodeState, deviceCodeForm } from "./device_form.ts";
import { deviceGuesses } from "./device_guess.ts";
import { deviceBeginning, deviceQuery } from "./device_request.ts";
import { paths } from "./discovery.ts";
import { callOf } from "./endpoint.ts";
import type { ProviderParts } from "./endpoints.ts";
import { refuseForeign } from "./own_address.ts";
import { type Pages, shown, stepOf } from "./pages.ts";
import { formIn, formMaxBytes, type Parameters, parametersIn } from "./parameters.ts";
import { formToken, isFormToken } from "./sealed_request.ts";

const longestCode = 40;

/**
 * The page on which a user enters the code of a device (RFC 8628, 3.3). It looks for no code before its form is sent, and what
 * follows is a sign-in like any other, whose end the device asks for.
 */
export function deviceRoute(parts: ProviderParts, pages: Pages): HttpRoute {
  const { deps, settings, issuer } = parts;
  const { keyring } = deps.secrets;
  const guess = deviceGuesses(deps, settings);

  return {
    path: paths.device,
    methods: ["GET", "POST"],
    bodyMaxBytes: formMaxBytes,
    handle(http) {
      const language = chooseLanguage(http.headers["accept-language"]) ?? "en";
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
    const browser = pages.jar.read(http.headers.cookie, "browser") ?? "";
    const userCode = codeIn(form);
    if (!isFormToken(keyring, formOf(browser), form.get("token"))) throw formExpired(deviceBeginning(userCode));
    const outcome = await guess(userCode, callOf(http));
    if (outcome === undefined)
      return askCode(http, { language, userCode, status: 400, problems: [pageText("device_unknown", language)] });
    if ("waitSeconds" in outcome) {
      const wait = pageText("attempts", language, { seconds: String(outcome.waitSeconds) });
      return askCode(http, { language, userCode, status: 429, problems: [wait] });
    }
    return found(http, deviceQuery(outcome.deviceId, userCode));
  }

  async function found(http: HttpRequest, query: string): Promise<Response> {
    const parameters = parametersIn(query);
    return pages.proceed(await pages.prove(parameters, http), stepOf(pages.jar, http, { parameters, query }));
  }

  function askCode(http: HttpRequest, state: Omit<CodeState, "token" | "cookies">): Response {
    const browser = pages.jar.read(http.headers.cookie, "browser") ?? newToken("ob");
    const cookies = [pages.jar.set("browser", browser)];
    return deviceCodeForm({ ...state, token: formToken(keyring, formOf(browser)), cookies });
  }
}

const codeIn = (parameters: Parameters): string =>
  shownUserCode(parameters.get("user_code")?.slice(0, longestCode) ?? "");

const formOf = (browser: string) => ({ browser, request: "code of a device", sessionId: "" });
