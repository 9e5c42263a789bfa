import { execFile } from "node:child_process";

/** An operating system user to run programs as. */
export type Account = Readonly<{ name: string; uid: number; gid: number; isSelf: boolean }>;

/** Whether a program succeeded, and its output. */
export type ProgramResult = Readonly<{ ok: boolean; output: string }>;

/** The environment of a program run as an account: only a search path, and English as its language. */
export function surroundings({ isSelf, uid, gid }: Account) {
  const env = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin", LC_ALL: "C" };
  return { cwd: "/", env, ...(isSelf ? {} : { uid, gid }) };
}

/** Runs a program to completion as the account; never throws. */
export function run(account: Account, program: string, args: readonly string[], input = ""): Promise<ProgramResult> {
  const options = { ...surroundings(account), timeout: 120_000, maxBuffer: 8 << 20 };
  return new Promise((resolve) => {
    try {
      const child = execFile(program, args, options, (error, stdout, stderr) =>
        resolve({ ok: !error, output: `${stderr}${stdout}`.trim() || (error?.message ?? "") }),
      );
      child.stdin?.on("error", () => {}).end(input);
    } catch (error) {
      resolve({ ok: false, output: String(error) });
    }
  });
}
