// Takes pictures of every page of the console and of its dialogs, in light and dark, on a telephone and on a desk:
//   bin/run node test/clients/browser/console_pictures.ts <url> <login name> <password file> <folder> [<pattern of names>]
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { type Page, startChromium } from "./chromium.ts";
import { dialogsOf } from "./console/dialogs.ts";
import { until } from "./console/until.ts";

const [
  url = "http://localhost:8080",
  loginName = "admin",
  passwordFile = "data/admin-password",
  into = "pictures",
  only = "",
] = process.argv.slice(2);

const is = "((selector) => document.querySelector(selector) !== null)";
const isRead = "(() => document.querySelector('main h1') !== null && document.querySelector('.waiting') === null)";
const signIn = `((loginName, password) => {
  document.querySelector("[name=login_name]").value = loginName;
  document.querySelector("[name=password]").value = password;
  document.querySelector("[value=password]").click();
})`;
const links =
  "((pattern) => [...document.querySelectorAll('main a')].map((a) => a.pathname).filter((path) => new RegExp(pattern).test(path)))";
const click = "((selector) => document.querySelector(selector).click())";

const screens = [1280, 360].flatMap((width) => (["light", "dark"] as const).map((scheme) => ({ width, scheme })));

async function take(page: Page, name: string): Promise<void> {
  for (const { width, scheme } of screens) {
    await page.onScreen(width);
    await page.inColors(scheme);
    await after(400);
    const { data } = await page.raw("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
    await writeFile(join(into, `${name}-${scheme}-${width}.png`), Buffer.from(String(data), "base64"));
  }
}

await mkdir(into, { recursive: true });
await using chromium = await startChromium();
const page = await chromium.open(`${url}/console/`);
await until(page, "the sign-in page is there", is, "[name=login_name]");
await page.run(signIn, loginName, (await readFile(passwordFile, "utf8")).trim());
await until(page, "the console is there", is, ".frame");

async function show(path: string): Promise<void> {
  await page.raw("Page.navigate", { url: `${url}${path}` });
  await until(page, "it is read", isRead);
  await after(500);
}

/** The paths of the objects that a list links to. */
async function allOf(list: string, pattern: string): Promise<string[]> {
  await show(list);
  return (await page.run(links, pattern)) as string[];
}

async function firstOf(list: string, pattern: string): Promise<string> {
  const [path] = await allOf(list, pattern);
  if (!path) throw new Error(`${list} has nothing to show`);
  return path;
}

/** The administrator's own organization, which has more to show than one that is new. */
async function own(): Promise<string> {
  await show("/console/organizations");
  return String(await page.run("(() => document.querySelector('main tr:has(.badge.plain) a').pathname)"));
}

/** The first application of those projects, and its project. */
async function firstApplication(projects: readonly string[]): Promise<{ project: string; application: string }> {
  for (const project of projects) {
    const [application] = await allOf(`${project}/applications`, "/applications/(?!new$)[^/]+$");
    if (application) return { project, application };
  }
  throw new Error("no project has an application");
}

const user = await firstOf("/console/users", "^/console/users/[^/]+$");
const { project, application } = await firstApplication(await allOf("/console/projects", "^/console/projects/[^/]+$"));
const organization = await own();
const idOf = (path: string): string => path.split("/").at(-1) ?? "";
const parts = {
  user: ["", "/access", "/security", "/applications", "/history"],
  project: ["", "/grants", "/applications", "/applications/new", "/organizations", "/members", "/settings", "/history"],
  organization: ["", "/policies", "/branding", "/domains", "/invitations", "/members", "/history"],
  instance: ["", "/branding", "/members", "/history"],
};
const paths = [
  ...["/", "/users", "/projects", "/applications", "/organizations", "/events", "/deliveries", "/roles", "/none"].map(
    (path) => `/console${path}`,
  ),
  "/console/why",
  `/console/why?user=${idOf(user)}&project=${idOf(project)}&app=${idOf(application)}`,
  ...parts.user.map((part) => user + part),
  ...parts.project.map((part) => project + part),
  ...parts.organization.map((part) => organization + part),
  ...parts.instance.map((part) => `/console/instance${part}`),
  ...["", "/connect", "/history"].map((part) => application + part),
];
const named = (path: string): string =>
  path
    .replace(user, "user")
    .replace(application, "application")
    .replace(project, "project")
    .replace(organization, "organization")
    .replace(/^\/console\/?/, "")
    .replace(/\?.*/, "-answer")
    .replaceAll("/", "-") || "home";
const isWanted = (name: string): boolean => new RegExp(only).test(name);
const seen = new Set<string>();
const spelled = (title: string): string => title.toLowerCase().replace(/\W+/g, "-");
for (const path of paths.filter((path) => isWanted(named(path)))) {
  await page.onScreen(1280);
  await show(path);
  await take(page, named(path));
  await page.onScreen(1280);
  await dialogsOf(page, seen, (title, state) => take(page, `${named(path)}--${spelled(title)}-${state}`));
}
for (const opener of [".find", ".top > .button"].filter(() => isWanted("home"))) {
  await page.onScreen(1280);
  await show("/console/");
  await page.run(click, opener);
  await until(page, "a dialog is open", is, "dialog[open]");
  await take(page, `home${opener.replace(/\W+/g, "-")}`);
}
if (page.messages.length > 0) console.log(page.messages);
