import { type LookupAddress, promises } from "node:dns";
import { readFile } from "node:fs/promises";

/** Finds the addresses of a host's name. */
export type FindAddresses = (name: string) => Promise<readonly LookupAddress[]>;

// Errors that mean that a name does not exist, or that there is no name server.
const absent: readonly string[] = ["ENOTFOUND", "ENODATA", "ECONNREFUSED"];

/**
 * Finds the addresses of names that applications register. Their name servers may never answer, and a lookup by the system then holds one
 * of this process's two lookup threads for ten seconds, while lookups of mail servers and the database wait. So name servers are asked
 * without a thread. The system is asked, one name at a time, for names that only it may know: those in its hosts file, of one word, or in
 * its search domains.
 */
export function findAddresses(timeoutMs: number): FindAddresses {
  const resolver = new promises.Resolver({ timeout: timeoutMs / 4, tries: 2 });
  let earlier: Promise<unknown> = Promise.resolve();

  return async (name) => {
    if (!name.includes(".") || (await isInHosts(name))) return ofSystem(name);
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = answers.flatMap((answer, n) =>
      answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family: n === 0 ? 4 : 6 })) : [],
    );
    if (found.length > 0) return found;
    const failed = answers.find(({ status, ...answer }) => "reason" in answer && !absent.includes(answer.reason.code));
    if (failed?.status !== "rejected") return ofSystem(name);
    throw failed.reason.code === "ETIMEOUT" ? timedOut() : failed.reason;
  };

  function ofSystem(name: string): Promise<LookupAddress[]> {
    const until = performance.now() + timeoutMs;
    const found = earlier.then(() => {
      if (performance.now() > until) throw timedOut();
      return promises.lookup(name, { all: true });
    });
    earlier = found.catch(() => {});
    return found;
  }
}

const timedOut = () => Object.assign(new Error("its name server does not answer"), { code: "ETIMEDOUT" });

async function isInHosts(name: string): Promise<boolean> {
  const hosts = await readFile("/etc/hosts", "utf8").catch(() => "");
  const names = hosts.split("\n").flatMap((line) => line.replace(/#.*/, "").trim().split(/\s+/).slice(1));
  return names.some((one) => one.toLowerCase() === name.toLowerCase());
}
