import { expect, test } from "vitest";
import { signedHeaders } from "../../src/notify/webhook.ts";

test("a post is signed as the libraries of Standard Webhooks verify it, by each secret", () => {
  const [secret, other] = ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "AAAA"].map((text) => Buffer.from(text, "base64"));
  // The vector of those libraries' own tests.
  const signed = {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    body: '{"test": 2432232314}',
    now: new Date(1_614_265_330_000),
  };
  const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
  expect(secret && signedHeaders([secret], signed)).toEqual({
    "content-type": "application/json",
    "webhook-id": signed.id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": signature,
  });
  const both = secret && other && signedHeaders([secret, other], signed)["webhook-signature"].split(" ");
  expect(both).toEqual([signature, expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/)]);
});
