import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Browser, openBrowser } from "./browser.ts";
import { type Finding, findingsIn, isListed, unseen } from "./findings.ts";
import { type Plan, plans } from "./plans.ts";
import { type Provider, startProvider } from "./provider.ts";
import { type Module, type Suite, startSuite } from "./suite.ts";

const folder = join(import.meta.dirname, "../../../node_modules/.cache/conformance-openid");
const longestModule = 5 * 60_000;

/** Runs the plans that the words choose, all of them without a word; answers whether all is as listed. */
async function judged(jar: string, files: { certFile: string; keyFile: string }, words: readonly string[]) {
  await mkdir(folder, { recursive: true });
  await using provider = await startProvider(files.certFile, files.keyFile);
  await using suite = await startSuite({ jar, ...files, logFile: join(folder, "suite.log") });
  const findings: Finding[] = [];
  for (const plan of plans.filter(({ name }) => isChosen(words, name)))
    findings.push(...(await run(plan, { provider, suite, words })));
  return report(findings, words.length === 0);
}

type Stage = { readonly provider: Provider; readonly suite: Suite; readonly words: readonly string[] };

/** Whether one of the words, `plan` or `plan/module`, is a part of the names. */
const isChosen = (words: readonly string[], plan: string, module?: string): boolean =>
  words.length === 0 ||
  words.some((word) => {
    const [ofPlan = "", ofModule = ""] = word.split("/");
    return plan.includes(ofPlan) && (module === undefined || module.includes(ofModule));
  });

async function run(plan: Plan, { provider, suite, words }: Stage): Promise<readonly Finding[]> {
  const { id, modules } = await suite.newPlan(plan.name, plan.variant, await plan.configure(provider, suite.url));
  console.log(`${plan.name}: ${modules.length} modules`);
  const findings: Finding[] = [];
  for (const module of modules.filter(({ testModule }) => isChosen(words, plan.name, testModule))) {
    const browser = openBrowser(provider.issuer, suite.url, provider.login);
    const found = await runModule(suite, browser, { plan, planId: id, module });
    findings.push(...found);
    const results = [...new Set(found.map(({ result }) => result))].join(" ");
    console.log(`  ${module.testModule}: ${results || "PASSED"}`);
  }
  return findings;
}

type Run = { readonly plan: Plan; readonly planId: string; readonly module: Module };

async function runModule(suite: Suite, browser: Browser, { plan, planId, module }: Run): Promise<readonly Finding[]> {
  const testId = await suite.newTest(planId, module);
  const pages: string[] = [];
  const uploaded = new Set<string>();
  for (const end = Date.now() + longestModule; Date.now() < end; await pause(100)) {
    const state = await suite.stateOf(testId);
    if (state.status === "FINISHED" || state.status === "INTERRUPTED")
      return findingsIn(
        { plan: plan.name, module: module.testModule, testId, pages },
        state,
        await suite.logOf(testId),
      );
    if (state.status !== "WAITING") continue;
    const [opening] = await suite.urlsOf(testId);
    if (opening) {
      await suite.opened(testId, opening.url);
      pages.push(...(await browser.open(opening)));
    } else if (pages.length > 0) await uploadPages(suite, testId, uploaded);
  }
  const condition = "the module does not end";
  return [{ plan: plan.name, module: module.testModule, testId, pages, result: "FAILED", condition, message: "" }];
}

/** Fills the places for pictures of pages: what the pages must be stands in the list of findings. */
async function uploadPages(suite: Suite, testId: string, uploaded: Set<string>): Promise<void> {
  for (const { upload } of await suite.logOf(testId))
    if (upload !== undefined && !uploaded.has(upload)) {
      uploaded.add(upload);
      await suite.upload(testId, upload);
    }
}

async function report(findings: readonly Finding[], isWhole: boolean): Promise<boolean> {
  const file = join(folder, "report.json");
  await writeFile(file, `${JSON.stringify(findings, undefined, 1)}\n`);
  const wrong = findings.filter((finding) => !isListed(finding));
  for (const { plan, module, result, condition, message, pages } of wrong)
    console.log(`NOT LISTED: ${result} ${plan} ${module} ${condition}: ${message} [${pages.join(", ")}]`);
  if (isWhole)
    for (const { module, condition } of unseen(findings)) console.log(`listed, but not found: ${module} ${condition}`);
  console.log(`conformance: ${findings.length} findings, ${wrong.length} not listed; report: ${file}`);
  return wrong.length === 0;
}

const [jar = "", certFile = "", keyFile = "", ...words] = process.argv.slice(2);
process.exitCode = (await judged(jar, { certFile, keyFile }, words)) ? 0 : 1;
