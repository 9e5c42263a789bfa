import type { HttpRequest, HttpRoute, Response } from "@postern/gateway";
import { languageIn } from "./authorization_request.ts";
import { paths } from "./discovery.ts";
import { type Pages, shown, stepOf } from "./pages.ts";
import { formMaxBytes, parametersIn } from "./parameters.ts";
import { asGet, refuseLong } from "./query.ts";

/** The authorization endpoint. A POST becomes a GET, with which browsers send the cookies of the pages. */
export const authorizeRoute = (pages: Pages): HttpRoute => ({
  path: paths.authorize,
  methods: ["GET", "POST"],
  bodyMaxBytes: formMaxBytes,
  handle(http) {
    const language = languageIn(noParameters, http.headers["accept-language"]);
    return shown(http, { language }, async () =>
      http.method === "POST" ? asGet(http, paths.authorize) : begun(pages, http),
    );
  },
});

const noParameters = { get: () => undefined, repeated: [] };

async function begun(pages: Pages, http: HttpRequest): Promise<Response> {
  const { query } = http;
  refuseLong(query);
  const parameters = parametersIn(query);
  const proven = await pages.prove(parameters, http);
  return pages.proceed(proven, stepOf(pages.jar, http, { parameters, query }));
}
