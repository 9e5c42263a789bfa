import type { DescMethod } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { startPostern } from "../harness.ts";
import { type Fields, fieldsOf, type HttpResponse } from "../wire/http.ts";
import { openDoors } from "./doors.ts";
import { normalised } from "./plain.ts";
import { methods } from "./play.ts";

const getMe = methods.get("AccountService.GetMe") as DescMethod;
const policy = '"address";q=1;w=60';

/** The headers about limits, wherever the protocol puts those of a refusal. */
function limitFieldsOf(response: HttpResponse): Fields {
  const fields = fieldsOf(response);
  const isText = fields["content-type"]?.includes("grpc-web-text");
  const text = isText ? Buffer.from(String(response.body), "base64").toString("latin1") : String(response.body);
  // The trailers of gRPC-Web are the last frame of the body.
  const written = [...text.matchAll(/(ratelimit-policy|ratelimit|retry-after): (.*?)\r\n/g)];
  const all = { ...Object.fromEntries(written.map(([, name = "", value = ""]) => [name, value])), ...fields };
  const names = ["ratelimit", "ratelimit-policy", "retry-after"];
  return Object.fromEntries(names.flatMap((name) => (all[name] === undefined ? [] : [[name, all[name] as string]])));
}

test("a call too many is refused at every door alike, with the time to wait and the headers of the limit", async () => {
  await using postern = await startPostern({ callsPerAddressPerMinute: 1, trustedProxies: ["127.0.0.1"] });
  const responses: HttpResponse[] = [];
  const seen: Fields[] = [];
  using doors = openDoors(postern.url, (response) => {
    responses.push(response);
    seen.push(limitFieldsOf(response));
  });
  let first: unknown;
  for (const [index, door] of doors.all.entries()) {
    const headers = { authorization: `Bearer ${postern.admin.token}`, "x-forwarded-for": `203.0.113.${index + 1}` };
    const ask = () => door.ask({ method: getMe, request: {}, headers });
    expect((await ask()).code, door.name).toBe("OK");
    expect(seen.at(-1), door.name).toEqual({
      ratelimit: expect.stringMatching(/^"address";r=0;t=(60|5\d)$/),
      "ratelimit-policy": policy,
    });
    const refused = await ask();
    const { headers: sent } = responses.at(-1) ?? expect.unreachable();
    expect(sent, `${door.name}: no trailer has them`).toMatchObject({
      ratelimit: expect.stringMatching(/^"address";r=0;t=(60|5\d)$/),
      "ratelimit-policy": policy,
    });
    expect([refused.code, refused.reason], door.name).toEqual(["ResourceExhausted", "RATE_LIMIT"]);
    expect(seen.at(-1), door.name).toEqual({
      ratelimit: expect.stringMatching(/^"address";r=0;t=(60|5\d)$/),
      "ratelimit-policy": policy,
      "retry-after": expect.stringMatching(/^(60|5\d)$/),
    });
    expect(JSON.stringify(refused.details), door.name).toContain("retryDelay");
    first ??= normalised(refused);
    expect(normalised(refused), door.name).toEqual(first);
  }
});
