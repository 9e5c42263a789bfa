import { usesLibrary } from "./library.ts";

usesLibrary("go");
usesLibrary("java");
