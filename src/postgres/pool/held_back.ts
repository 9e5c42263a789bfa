import { PreparedStatement } from "./prepared.ts";
import { type Admit, admitted, isStatement } from "./statement.ts";

type Ask = (...given: never[]) => unknown;

/** Wraps a client so that its statements are held back until they are admitted. */
export function heldBack<C extends Ask & { readonly unsafe: Ask }>(client: C, admit: Admit): C {
  const intercept = (made: unknown) => (isStatement(made) ? admitted(made, admit) : made);
  const unsafe = (...given: never[]) => {
    const [text, args, options] = given as readonly unknown[] as readonly [string, unknown?, { prepare?: boolean }?];
    if (options?.prepare && areTexts(args)) return new PreparedStatement(text, args, admit);
    return intercept(Reflect.apply(client.unsafe, client, given));
  };
  return new Proxy(client, {
    apply: (target, self, args) => intercept(Reflect.apply(target, self, args)),
    get: (target, key) => (key === "unsafe" ? unsafe : Reflect.get(target, key)),
  });
}

const areTexts = (args: unknown): args is readonly string[] =>
  Array.isArray(args) && args.length > 0 && args.every((one) => typeof one === "string");
