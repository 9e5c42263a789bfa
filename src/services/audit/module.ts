import type { Deps } from "../../deps.ts";
import type { Tail } from "../../events/follow.ts";
import { eventRules, eventService } from "./event.ts";

type Parts = { readonly deps: Deps; readonly tail: Tail };

export const audit = {
  serves: { EventService: ({ deps, tail }: Parts) => eventService(deps, tail) },
  rules: () => eventRules,
};
