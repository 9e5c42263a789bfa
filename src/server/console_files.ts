import { createHash } from "node:crypto";
import { access, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The encodings that files are built in, the smallest first. */
export const fileEncodings = ["br", "gzip"] as const;
type FileEncoding = (typeof fileEncodings)[number];

/** A file of the console in each of its encodings: uncompressed, and in those compressed forms that were built. */
export type ConsoleFile = {
  readonly type: string;
  readonly etag: string;
  readonly bytes: Buffer;
  readonly encodings: Readonly<Record<FileEncoding, Buffer | undefined>>;
};

/** The console as it was built: its page, and the files that the page loads, by name. */
export type ConsoleFiles = { readonly page: string; readonly assets: ReadonlyMap<string, ConsoleFile> };

// In the repository the folder of the sources, in the package that of the built files.
const folder = fileURLToPath(new URL("../../console/", import.meta.url));

/** The files of the package, or of a checkout, which builds them; undefined if there are none and they cannot be built. */
export async function consoleFiles(): Promise<ConsoleFiles | undefined> {
  // The path is no literal, so that nothing of the build is bundled into the program.
  const script = join(folder, "build.ts");
  const isCheckout = await access(script).then(
    () => true,
    () => false,
  );
  return isCheckout ? ((await built(script)) ?? (await builtBefore())) : filesIn(folder);
}

const builtBefore = () => filesIn(join(folder, "dist")).catch(() => undefined);

type Build = (options: { readonly into: string }) => Promise<void>;

/** Builds a checkout's console, into a folder of this process, because others may build theirs now; undefined without the dev packages. */
async function built(script: string): Promise<ConsoleFiles | undefined> {
  const into = await mkdtemp(join(tmpdir(), "postern-console-"));
  try {
    const { buildConsole } = (await import(script)) as { buildConsole: Build };
    await buildConsole({ into });
    return await filesIn(into);
  } catch (error) {
    return withoutPackages(error);
  } finally {
    await rm(into, { recursive: true, force: true });
  }
}

/** An install without the packages of development has neither the bundler nor the page's dependencies. */
function withoutPackages(error: unknown): undefined {
  if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
}

async function filesIn(built: string): Promise<ConsoleFiles> {
  const names = (await readdir(join(built, "assets"))).filter((name) => typeOf(name) !== undefined);
  const files = names.map(async (name) => [name, await fileOf(join(built, "assets", name))] as const);
  return { page: await readFile(join(built, "index.html"), "utf8"), assets: new Map(await Promise.all(files)) };
}

const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const typeOf = (name: string): string | undefined => types[extname(name)];

async function fileOf(path: string): Promise<ConsoleFile> {
  const bytes = await readFile(path);
  const encodings = { br: await bytesOf(`${path}.br`), gzip: await bytesOf(`${path}.gz`) };
  return { type: typeOf(path) ?? "application/octet-stream", etag: etagOf(bytes), bytes, encodings };
}

const bytesOf = (path: string): Promise<Buffer | undefined> => readFile(path).catch(() => undefined);

export const etagOf = (body: Buffer | string): string =>
  `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"`;
