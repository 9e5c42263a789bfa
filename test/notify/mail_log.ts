import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { Mail } from "../../src/notify/mail/mail.ts";
import type { Postern } from "../harness.ts";

/** The mails to an address that the default sender wrote and whose texts match, once there are as many as expected. */
export const mailsTo = (postern: Postern, email: string, count = 1, like = /(?:)/): Promise<readonly Mail[]> =>
  vi.waitFor(
    async () => {
      const found = (await allMails(postern)).filter(({ to, text }) => to === email && like.test(text));
      if (found.length < count) expect.unreachable(`${found.length} mails of ${count}`);
      return found;
    },
    { timeout: 60_000 },
  );

/** Every mail that the default sender wrote. */
export async function allMails(postern: Postern): Promise<readonly Mail[]> {
  const lines = await readFile(join(postern.config.dataDir, "mail.log"), "utf8").catch(() => "");
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
