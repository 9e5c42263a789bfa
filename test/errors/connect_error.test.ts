import { Code, ConnectError } from "@connectrpc/connect";
import { refusal } from "@postern/gateway";
import { expect, test } from "vitest";

const codes = Object.values(Code).filter((code) => typeof code === "number");
const fields = ["name", "message", "rawMessage", "code", "details", "cause", "isWireError"] as const;

for (const code of codes)
  test(`a refusal by ${Code[code]} is what Connect's own constructor makes, but for its stack and the class of its headers`, () => {
    const details = { metadata: { "retry-after": "1", Link: "<https://example.com>" }, cause: new Error("why") };
    const made = refusal({ domain: "test", reason: "TEST", code, text: () => "no", describe: () => "" }, details);
    const own = new ConnectError("no", code, details.metadata, [], details.cause);
    own.details = made.details;
    expect(made).toBeInstanceOf(ConnectError);
    expect(Object.keys(made).sort()).toEqual(Object.keys(own).sort());
    for (const field of fields) expect(made[field], field).toBe(own[field]);
    expect([...made.metadata]).toEqual([...own.metadata]);
  });
