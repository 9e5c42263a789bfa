import { generates } from "./language.ts";

generates("go");
generates("java");
