import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { NotTaken } from "./not_taken.ts";

/** Writes each message as a line of JSON to a file that only its owner can read: the default, meant for development. */
export const logSender =
  (file: string, clock: () => Date) =>
  async (message: object): Promise<void> => {
    const line = `${JSON.stringify({ time: clock().toISOString(), ...message })}\n`;
    await append(file, line).catch((error: NodeJS.ErrnoException) => {
      throw new NotTaken(`its file cannot be written (${error.code})`);
    });
  };

async function append(path: string, line: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o711 });
  await using file = await open(path, "a", 0o600);
  await file.chmod(0o600);
  await file.write(line);
  await file.sync();
}
