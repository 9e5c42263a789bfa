import { describe } from "vitest";
import { playScenes } from "./every_scene.ts";

// Each way in which a protocol uses HTTP/2; formats are nothing to it, and each is met here once.
describe("by Node's HTTP/2", () => {
  playScenes(
    ({ all }) =>
      all.filter(({ name, format }) => name.endsWith("HTTP/2") && (format === "binary" || /^(REST|plain)/.test(name))),
    { http2: "node" },
  );
});
