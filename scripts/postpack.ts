// npm runs this once it has packed. After a run that ended early, this or the next run puts everything back.
import { restore } from "./manifest.ts";

await restore();
