// Writes the pages that are made of the source.
import { writeFile } from "node:fs/promises";
import { errorsPage } from "./errors_page.ts";

await writeFile(new URL("./errors.md", import.meta.url), errorsPage());
