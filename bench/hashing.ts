import { availableParallelism } from "node:os";
import argon2 from "argon2";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { interleave, middle, type Pace, ratio } from "../packages/gateway/bench/rounds.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { generate, type Load, together } from "./load.ts";
import { startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";
import { post } from "./users.ts";

type Person = { readonly token: string; readonly passwords: readonly [string, string] };
type Round = { readonly changes: number; readonly p99: number };

const first = "Blue-Kettle-42";
const userCount = 2 * availableParallelism();
const settle = 1;

/** Compares password changes at saturation with the hashing limit of the machine, and measures other callers meanwhile. */
export async function hashing(pace: Pace): Promise<Row[]> {
  await using databases = await startDatabaseServer();
  await using system = await startSystem(databases, "hashing");
  const signedUp = await Promise.all(Array.from({ length: userCount }, (_, n) => signUp(system, n)));
  const changesOf = new Map<Person, number>();
  await generate({ ...bystander(system, pace.seconds), callers: 16, everyMs: 0 });
  const found = await interleave<Round>(
    [
      { name: "ceiling", run: async (seconds) => ({ changes: await ceiling(seconds), p99: Number.NaN }) },
      {
        name: "unloaded",
        run: async (seconds) => ({ changes: Number.NaN, p99: (await generate(bystander(system, seconds))).p99 }),
      },
      { name: "saturated", run: (seconds) => saturated(system, changesOf, { signedUp, seconds }) },
    ],
    pace,
  );
  const [most, quiet, busy] = ["ceiling", "unloaded", "saturated"].map((name) => found.get(name));
  return [
    row("ChangePassword", "argon2id ceiling", { "calls/s": round(middle(most, ({ changes }) => changes)) }),
    {
      ...row("ChangePassword", "saturated", {
        "calls/s": round(middle(busy, ({ changes }) => changes)),
        "x ceiling": round(ratio(busy, most, ({ changes }) => changes)),
      }),
      goals: { "x ceiling": { least: 0.9 } },
    },
    row("GetMe", "unloaded", { "p99 ms": round(middle(quiet, ({ p99 }) => p99)) }),
    {
      ...row("GetMe", "beside hashing", {
        "p99 ms": round(middle(busy, ({ p99 }) => p99)),
        "p99 to unloaded": round(ratio(busy, quiet, ({ p99 }) => p99)),
      }),
      goals: { "p99 to unloaded": { most: 3 } },
    },
  ];
}

/** Changes per second with as many at once as there are cores; a change is one check and one new hash. */
async function ceiling(seconds: number): Promise<number> {
  const options = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
  const began = performance.now();
  let changes = 0;
  const one = async () => {
    for (let hash = await argon2.hash(first, options); performance.now() < began + seconds * 1000; changes++) {
      await argon2.verify(hash, first);
      hash = await argon2.hash(first, options);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, one));
  return changes / ((performance.now() - began) / 1000);
}

/** The load of a caller who waits between two calls, and so takes from the hashing no more than the calls cost. */
const bystander = ({ server, token }: SystemUnderTest, seconds: number): Load => ({
  ...{ url: server.url, protocol: "grpc", token, recipe: { kind: "get_me" }, from: 0 },
  ...{ callers: 1, everyMs: 20, settle, seconds },
});

type Crowd = { readonly signedUp: readonly Person[]; readonly seconds: number };

async function saturated(
  system: SystemUnderTest,
  changesOf: Map<Person, number>,
  { signedUp, seconds }: Crowd,
): Promise<Round> {
  const loads = signedUp.map((person): Load => {
    const recipe = { kind: "change_password", passwords: person.passwords } as const;
    const from = changesOf.get(person) ?? 0;
    return { ...bystander(system, seconds), token: person.token, everyMs: 0, recipe, from };
  });
  const [beside, ...changers] = await together([bystander(system, seconds), ...loads]);
  // After a refusal the two passwords are not swapped.
  for (const [at, person] of signedUp.entries())
    changesOf.set(person, (changesOf.get(person) ?? 0) + (changers[at]?.granted ?? 0));
  const refused = changers.reduce((sum, one) => sum + one.refused, 0);
  if (refused > 0) throw new Error(`${refused} changes of passwords were refused`);
  return { changes: changers.reduce((sum, { rate }) => sum + rate, 0), p99: beside?.p99 ?? Number.NaN };
}

async function signUp({ server, token }: SystemUnderTest, n: number): Promise<Person> {
  const passwords = [first, "Grey-Teapot-43"] as const;
  const names = { username: `hash${n}`, givenName: "Ada", familyName: "Byron", email: `hash${n}@example.com` };
  await post(server.url, "/v1/users/human", { body: { ...names, password: passwords[0] }, token });
  const session = await post(server.url, "/v1/sessions", { body: { loginName: `hash${n}`, password: passwords[0] } });
  return { token: String(session.token), passwords };
}
