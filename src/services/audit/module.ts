import { EventService } from "../../../gen/postern/v1/event_pb.ts";
import type { Deps } from "../../deps.ts";
import type { Tail } from "../../events/follow.ts";
import { serving } from "../module.ts";
import { eventRules, eventService } from "./event.ts";

type Parts = { readonly deps: Deps; readonly tail: Tail };

export const audit = {
  serves: [serving(EventService, ({ deps, tail }: Parts) => eventService(deps, tail))],
  rules: () => eventRules,
};
