import { readFile } from "node:fs/promises";
import type { HttpRoute } from "@postern/gateway";
import { paths } from "../http/paths.ts";

export const pageFiles = (): readonly HttpRoute[] => [
  fileRoute(paths.style, "page.css", "text/css; charset=utf-8"),
  fileRoute(paths.formPost, "form_post.js", "text/javascript; charset=utf-8"),
  fileRoute(paths.script, "page.js", "text/javascript; charset=utf-8"),
  noIcon,
];

/** Browsers request an icon unprompted, and would report a missing one as an error of the page. */
const noIcon: HttpRoute = {
  path: paths.icon,
  handle: () => ({ status: 204, headers: { "cache-control": "public, max-age=86400" } }),
};

function fileRoute(path: string, name: string, type: string): HttpRoute {
  const text = readFile(new URL(`./${name}`, import.meta.url), "utf8");
  return {
    path,
    handle: async () => ({
      status: 200,
      headers: { "content-type": type, "cache-control": "public, max-age=300" },
      body: await text,
    }),
  };
}
