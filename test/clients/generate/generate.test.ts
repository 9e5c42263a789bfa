import { generates } from "./language.ts";

generates("typescript");
generates("python");
