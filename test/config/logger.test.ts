import { expect, test } from "vitest";
import { loggedError } from "../../src/config/logger.ts";
import { refuse } from "../../src/errors.ts";

test("a refusal is logged with its reason and its cause, in less than two kilobytes", () => {
  const cause = new Error("no connection was free");
  const logged = loggedError(refuse.because("UNAVAILABLE", { retrySeconds: 1, cause }));
  expect(logged).toMatchObject({ type: "ConnectError", code: "UNAVAILABLE", reason: "UNAVAILABLE" });
  expect(logged).toMatchObject({ message: expect.stringContaining("no connection was free") });
  expect(JSON.stringify({ ...(logged as object), stack: "" }).length).toBeLessThan(500);
});

test("any other error keeps what it says of itself", () => {
  const error = Object.assign(new Error("the socket has ended"), { code: "ECONNRESET" });
  expect(loggedError(error)).toMatchObject({ type: "Error", message: "the socket has ended", code: "ECONNRESET" });
});
