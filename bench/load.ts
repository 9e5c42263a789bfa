import * as generator from "../packages/gateway/bench/load/generator.ts";
import type { RecipeCalls } from "./recipe_calls.ts";

export type { LoadOutcome } from "../packages/gateway/bench/load/generator.ts";

/** A load of calls by a recipe. */
export type Load = RecipeCalls & Omit<generator.Load, "shot" | "source">;

const module = new URL("./recipe_calls.ts", import.meta.url).href;

/** Sends calls from a thread of its own, each caller one after the other. */
export const generate = (load: Load): Promise<generator.LoadOutcome> => generator.generate(loadOf(load));

/** The same for several loads at once, all from one thread. */
export const together = (loads: readonly Load[]): Promise<generator.LoadOutcome[]> =>
  generator.together(loads.map(loadOf));

const loadOf = ({ protocol, recipe, token, ...load }: Load): generator.Load => ({
  ...load,
  source: { module, options: { protocol, recipe, token } },
});
