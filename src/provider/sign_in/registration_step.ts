import type { Response } from "@postern/gateway";
import type { Deps } from "../../deps.ts";
import { type CookieJar, isCookieValue } from "../http/cookies.ts";
import { parametersIn, wordsOf } from "../http/parameters.ts";
import { paths } from "../http/paths.ts";
import { redirect } from "../http/redirect.ts";
import { later } from "../http/settings.ts";
import { changed } from "../request/pushed_request.ts";
import { formSeconds, sealRequest } from "../request/sealed_request.ts";
import type { BrowserStep } from "./browser_step.ts";

/** Makes the step to the registration; it returns nothing if the request is too long for the browser to keep. */
export const registrationStep =
  ({ secrets, clock }: Pick<Deps, "secrets" | "clock">, jar: CookieJar) =>
  ({ query, browser, cookies }: BrowserStep): Response | undefined => {
    const { keyring } = secrets;
    const sealed = sealRequest(keyring, changed(keyring, { query, browser }, withoutCreate), clock());
    if (!isCookieValue("request", sealed)) return undefined;
    const waiting = jar.set("request", sealed, later(clock(), formSeconds));
    // A pushed request is for this browser alone, which may have no cookie yet.
    return redirect(paths.register, { cookies: [...cookies, jar.set("browser", browser), waiting] });
  };

/** The query of the request that continues after the registration, without asking for another one. */
function withoutCreate(query: string): string {
  const others = wordsOf(parametersIn(query).get("prompt") ?? "").filter((word) => word !== "create");
  const parameters = new URLSearchParams(query);
  if (others.length > 0) parameters.set("prompt", others.join(" "));
  else parameters.delete("prompt");
  return parameters.toString();
}
