import { seldom } from "./seldom.ts";

/** Whether this node can serve. */
export type Ready = () => boolean | Promise<boolean>;

/** Whether this node can serve, as of a moment ago; not, when that cannot be told. */
export const readiness = (ready: Ready): (() => Promise<boolean>) => seldom(() => ask(ready), 250);

async function ask(ready: Ready): Promise<boolean> {
  try {
    return await ready();
  } catch {
    return false;
  }
}
