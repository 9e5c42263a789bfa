import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { found } from "../../toolchains.ts";
import { openStage, type Stage } from "./stage.ts";

/** Declares scenes of the console. They share one browser and two nodes: to start these takes longer than most scenes do. */
export function scenesInChromium(declare: (stage: () => Stage) => void): void {
  describe.skipIf(!found("chromium"))("the console, in Chromium", { timeout: 300_000 }, () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await openStage();
    }, 300_000);
    afterEach(() => stage.endScene());
    afterAll(() => stage?.[Symbol.asyncDispose]());

    declare(() => stage);
  });
}
