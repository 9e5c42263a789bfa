import { runsSamples } from "./language.ts";

// TypeScript needs npm alone: test/server/reference.test.ts runs it.
runsSamples([
  { language: "curl", toolchain: "curl", file: "sample.sh", command: (path) => ["sh", path] },
  { language: "Python", toolchain: "python", file: "sample.py", command: (path) => ["python3", path] },
]);
