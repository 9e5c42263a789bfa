// Writes the pages that are made of the source, and the names of the settings for the chart.
import { writeFile } from "node:fs/promises";
import { chartSettings } from "./chart_settings.ts";
import { errorsPage } from "./errors_page.ts";

await writeFile(new URL("./errors.md", import.meta.url), errorsPage());
await writeFile(new URL("../deploy/helm/templates/_settings.tpl", import.meta.url), chartSettings());
