import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { type OutputChunk, rolldown } from "rolldown";
import { languageFiles } from "./language_files.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Bundles the console: `index.html`, and the files of `assets` under the hash of their content, each also compressed. */
export async function buildConsole({ into }: { readonly into: string }): Promise<void> {
  const [chunks, style] = await Promise.all([scripts(), styles()]);
  const entry = chunks.find(({ isEntry }) => isEntry);
  if (!entry) throw new Error("the console has no entry");
  const page = pageOf(await readFile(join(here, "index.html"), "utf8"), { entry, style: style.name });
  await rm(into, { recursive: true, force: true });
  await mkdir(join(into, "assets"), { recursive: true });
  const assets = [...chunks.map(({ fileName, code }) => ({ name: fileName, text: code })), style];
  await Promise.all(
    [...assets, { name: "index.html", text: page }].map(({ name, text }) => writeAll(join(into, name), text)),
  );
}

async function scripts(): Promise<OutputChunk[]> {
  const missing: string[] = [];
  await using bundle = await rolldown({
    input: { console: join(here, "main.tsx") },
    platform: "browser",
    transform: { target: "es2023" },
    plugins: [languageFiles(here)],
    logLevel: "warn",
    onLog(level, log, handle) {
      if (log.code === "UNRESOLVED_IMPORT") missing.push(log.message);
      else handle(level, log);
    },
  });
  const names = { entryFileNames: "assets/[name]-[hash].js", chunkFileNames: "assets/[name]-[hash].js" };
  // One file for the parts of all pages. Pages on one subject share a file: similar code compresses better together.
  const groups = [
    {
      name: "parts",
      test: /\/console\/(calls|gen|objects|parts|sign_in|texts|users\/user_name|application\/kinds|policies\/standing|project\/applications|shell\/navigation)|node_modules/,
    },
  ];
  const shape = { format: "esm", minify: true, comments: false, codeSplitting: { groups } } as const;
  const { output } = await bundle.generate({ ...shape, ...names });
  refuseMissing(missing);
  return output.filter((one) => one.type === "chunk");
}

/** A page that lacks a package would load and do nothing, so none is built. Like Node's, the error says that a module is missing. */
function refuseMissing([first]: readonly string[]): void {
  if (first !== undefined) throw Object.assign(new Error(first), { code: "ERR_MODULE_NOT_FOUND" });
}

/** The styles of the frame and of all pages, in one file. */
async function styles(): Promise<{ name: string; text: string }> {
  const found = (await readdir(here, { recursive: true }))
    .filter((path) => path.endsWith(".css") && !/^(node_modules|dist)\//.test(path))
    // The general ones first.
    .sort((a, b) => Number(b.startsWith("styles/")) - Number(a.startsWith("styles/")) || (a < b ? -1 : 1));
  const text = (await Promise.all(found.map((path) => readFile(join(here, path), "utf8")))).map(smaller).join("");
  const hash = createHash("sha256").update(text).digest("base64url").slice(0, 8);
  return { name: `assets/console-${hash}.css`, text };
}

/** Our styles contain no text in which a blank would matter. */
const smaller = (css: string): string =>
  css
    .replace(/\/\*.*?\*\//gs, "")
    .replace(/\s+/g, " ")
    .replace(/ ?([{};,]) ?/g, "$1")
    .replace(/: /g, ":")
    .replace(/;}/g, "}")
    .trim();

function pageOf(html: string, { entry, style }: { readonly entry: OutputChunk; readonly style: string }): string {
  const early = entry.imports.map((name) => `    <link rel="modulepreload" href="/console/${name}">\n`).join("");
  return html
    .replace("<!-- styles -->", `<link rel="stylesheet" href="/console/${style}">`)
    .replace("    <!-- script -->\n", `${early}    <script type="module" src="/console/${entry.fileName}"></script>\n`);
}

const [zipped, broken] = [promisify(gzip), promisify(brotliCompress)];

async function writeAll(path: string, text: string): Promise<void> {
  const params = { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT, [constants.BROTLI_PARAM_QUALITY]: 10 };
  await writeFile(path, text);
  await writeFile(`${path}.gz`, await zipped(text, { level: 9 }));
  await writeFile(`${path}.br`, await broken(text, { params }));
}

if (basename(process.argv[1] ?? "") === "build.ts")
  await buildConsole({ into: fileURLToPath(new URL("dist", import.meta.url)) });
