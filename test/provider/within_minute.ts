import { openProbe } from "../probe.ts";

/** Runs until a run lies within one minute of the counts; answers what that one did. */
export async function withinMinute<T>(databaseUrl: string, run: () => Promise<T>): Promise<T> {
  await using probe = openProbe(databaseUrl);
  for (;;) {
    await probe.sql`delete from device_attempts`;
    const answer = await run();
    const [minutes] = await probe.sql`select count(distinct minute)::int as count from device_attempts`;
    if (minutes?.count === 1) return answer;
  }
}
