import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { languageIn } from "./authorization_request.ts";
import { paths } from "./discovery.ts";
import type { ProviderParts } from "./endpoints.ts";
import { PageError } from "./page_error.ts";
import { type Pages, shown, stepOf } from "./pages.ts";
import { formMaxBytes, parametersIn, queryMaxLength } from "./parameters.ts";
import { redirect } from "./response.ts";

/** The authorization endpoint. A POST becomes a GET, with which browsers send the cookies of the pages. */
export const authorizeRoute = (parts: ProviderParts, pages: Pages): HttpRoute => ({
  path: paths.authorize,
  methods: ["GET", "POST"],
  bodyMaxBytes: formMaxBytes,
  handle(http) {
    const language = languageIn(noParameters, http.headers["accept-language"]);
    return shown(language, parts, async () => (http.method === "POST" ? asGet(http) : begun(pages, http)));
  },
});

const noParameters = { get: () => undefined, repeated: [] };

async function begun(pages: Pages, http: HttpRequest): Promise<Response> {
  const { query } = http;
  refuseLong(query);
  const parameters = parametersIn(query);
  const proven = await pages.prove(parameters);
  return pages.proceed(proven, stepOf(pages.jar, http, { parameters, query }));
}

/** Sends the parameters of a form on as a query; repeated ones stay repeated, and are refused then. */
function asGet({ headers, body }: HttpRequest): Response {
  const query = new URLSearchParams(Buffer.from(body).toString("utf8")).toString();
  refuseLong(query);
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== formType) throw new PageError("request_malformed", { problem: `the body is not ${formType}` });
  return redirect(`${paths.authorize}?${query}`, { cookies: [] });
}

const formType = "application/x-www-form-urlencoded";

function refuseLong(query: string): void {
  if (query.length > queryMaxLength)
    throw new PageError("request_malformed", {
      problem: `its parameters are longer than ${queryMaxLength} characters`,
    });
}
