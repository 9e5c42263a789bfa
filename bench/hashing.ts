import { availableParallelism } from "node:os";
import argon2 from "argon2";
import { type Bed, makeBed } from "./bed.ts";
import { startGround } from "./ground.ts";
import { generate, type Outcome } from "./load/generator.ts";
import { post } from "./people.ts";
import { type Row, row } from "./report.ts";
import { interleave, middle, type Pace, ratio } from "./rounds.ts";
import { round } from "./stats.ts";

type Person = { readonly token: string; readonly passwords: readonly [string, string] };
type Round = { readonly changes: number; readonly p99: number };

const people = 2 * availableParallelism();

/** Password changes at saturation against what the machine hashes at most, and what bystanders notice of it. */
export async function hashing(pace: Pace): Promise<Row[]> {
  await using ground = await startGround();
  await using bed = await makeBed(ground, "hashing");
  const signedUp = await Promise.all(Array.from({ length: people }, (_, n) => signUp(bed, n)));
  const turns = new Map<Person, number>();
  const found = await interleave<Round>(
    [
      { name: "ceiling", run: async (seconds) => ({ changes: (await ceiling(seconds)) / 2, p99: Number.NaN }) },
      { name: "unloaded", run: async (seconds) => ({ changes: Number.NaN, p99: (await bystand(bed, seconds)).p99 }) },
      {
        name: "saturated",
        async run(seconds) {
          const [{ p99 }, ...changes] = await Promise.all([
            bystand(bed, seconds),
            ...signedUp.map((person) => change(bed, person, { turns, seconds })),
          ]);
          return { changes: changes.reduce((sum, one) => sum + one, 0), p99 };
        },
      },
    ],
    pace,
  );
  const [most, quiet, busy] = ["ceiling", "unloaded", "saturated"].map((name) => found.get(name));
  return [
    row("ChangePassword", "argon2id ceiling", { "calls/s": round(middle(most, ({ changes }) => changes)) }),
    row("ChangePassword", "saturated", {
      "calls/s": round(middle(busy, ({ changes }) => changes)),
      "x ceiling": round(ratio(busy, most, ({ changes }) => changes)),
    }),
    row("GetMe", "unloaded", { "p99 ms": round(middle(quiet, ({ p99 }) => p99)) }),
    row("GetMe", "beside hashing", {
      "p99 ms": round(middle(busy, ({ p99 }) => p99)),
      "p99 to unloaded": round(ratio(busy, quiet, ({ p99 }) => p99)),
    }),
  ];
}

/** Hashes per second with as many at once as there are cores; a change is one check and one new hash. */
async function ceiling(seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let hashes = 0;
  const options = { type: argon2.argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
  const one = async () => {
    while (performance.now() < end) {
      await argon2.hash("Blue-Kettle-42", options);
      hashes += 1;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, one));
  return hashes / seconds;
}

const bystand = ({ server, token }: Bed, seconds: number): Promise<Outcome> =>
  generate({ url: server.url, protocol: "grpc", callers: 4, seconds, token, recipe: { kind: "get_me" }, from: 0 });

type Turns = { readonly turns: Map<Person, number>; readonly seconds: number };

async function change({ server }: Bed, person: Person, { turns, seconds }: Turns): Promise<number> {
  const { token, passwords } = person;
  const recipe = { kind: "change_password", passwords } as const;
  const from = turns.get(person) ?? 0;
  const load = { url: server.url, protocol: "grpc", callers: 1, seconds, token, recipe, from } as const;
  const { calls, refused, next } = await generate(load);
  // After a refusal the passwords have not changed places.
  turns.set(person, next - (refused % 2));
  return (calls - refused) / seconds;
}

async function signUp({ server, token }: Bed, n: number): Promise<Person> {
  const passwords = ["Blue-Kettle-42", "Grey-Teapot-43"] as const;
  const names = { username: `hash${n}`, givenName: "Ada", familyName: "Byron", email: `hash${n}@example.com` };
  await post(server.url, "/v1/users/human", { body: { ...names, password: passwords[0] }, token });
  const session = await post(server.url, "/v1/sessions", { body: { loginName: `hash${n}`, password: passwords[0] } });
  return { token: String(session.token), passwords };
}
