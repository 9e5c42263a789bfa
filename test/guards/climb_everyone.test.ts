import { test } from "vitest";
import { acts, setStage, targets, tryOn } from "./climb.ts";

setStage();

test.each(Object.keys(acts))("who may %s", (act) => tryOn(targets, act));
