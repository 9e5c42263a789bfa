import { usesLibrary } from "./library.ts";

usesLibrary("typescript");
usesLibrary("python");
