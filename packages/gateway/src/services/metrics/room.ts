import { refuse } from "../../../../../src/errors.ts";
import type { Room } from "../../rpc/rooms.ts";
import { seldom } from "../seldom.ts";
import type { CallMetrics } from "./calls.ts";
import { type HouseLoad, houseFamilies } from "./house.ts";
import type { RuntimeMetrics } from "./runtime.ts";
import { contentType, exposition } from "./text.ts";

/** What `/metrics` is made of. */
export type MetricsParts = {
  readonly calls: CallMetrics;
  readonly runtime: RuntimeMetrics;
  readonly load: () => Promise<HouseLoad>;
};

/** `/metrics`, for Prometheus. */
export function metricsRoom({ calls, runtime, load }: MetricsParts): Room {
  const house = seldom(load, 1000);
  return (asked) => {
    if (asked.path !== "/metrics") return undefined;
    if (asked.method !== "GET" && asked.method !== "HEAD")
      throw refuse.because("METHOD_NOT_ALLOWED", { params: { allow: "GET, HEAD" } });
    return answer();
  };

  async function answer() {
    const body = exposition([...calls.families(), ...houseFamilies(await house()), ...runtime.families()]);
    return { status: 200, headers: { "content-type": contentType }, body };
  }
}
