import { afterAll, beforeAll, expect, test } from "vitest";
import { callRest, filled, reasonOf, wrongFields } from "../rest/rest_call.ts";
import { openSample, type SampleServer } from "../sample_gateway.ts";

let server: SampleServer;
beforeAll(async () => {
  server = await openSample({ messageMaxBytes: 4_194_304, bodiesMaxBytes: 1_073_741_824 });
});
afterAll(() => server[Symbol.asyncDispose]());

const places = ["POST /do", "POST /sample.Samples/Do"];

const accepted: readonly [body: string, want: object][] = [
  ["", {}],
  ["{}", {}],
  [" \n{}\t", {}],
  ['{"name":"a"}', { name: "a" }],
  ['{"item_count":1}', { itemCount: 1 }],
  ['{"itemCount":"1"}', { itemCount: 1 }],
  ['{"itemCount":1e2}', { itemCount: 100 }],
  ['{"whole":"18446744073709551615"}', { whole: "18446744073709551615" }],
  ['{"name":null,"tags":null,"inner":null,"kind":null}', {}],
  ['{"kind":"KIND_ROUND","kinds":[1,"KIND_NONE"]}', { kind: "KIND_ROUND", kinds: ["KIND_ROUND", "KIND_NONE"] }],
  ['{"at":"2024-02-29T23:59:59.123456789+01:00"}', { at: "2024-02-29T22:59:59.123456789Z" }],
  ['{"wait":"-1.5s"}', { wait: "-1.500s" }],
  ['{"labels":{"__proto__":"x","a.b":"y"}}', { labels: JSON.parse('{"__proto__":"x","a.b":"y"}') }],
  ['{"name":"a:{\\"\\\\"}', { name: 'a:{"\\' }],
];

for (const [body, want] of accepted) {
  test(`${body || "an empty body"} is read`, async () => {
    for (const place of places) expect(filled(await callRest(server, place, body))).toEqual(want);
  });
}

const malformed: readonly [what: string, body: string | Uint8Array][] = [
  ["null", "null"],
  ["a list", "[]"],
  ["a string", '"x"'],
  ["trailing garbage", "{}x"],
  ["two objects", "{}{}"],
  ["half an object", '{"name":'],
  ["a trailing comma", '{"name":"a",}'],
  ["single quotes", "{'name':'a'}"],
  ["a comment", "{/**/}"],
  ["NaN", '{"ratio":NaN}'],
  ["blanks alone", "  "],
  ["invalid UTF-8", Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])],
  ["an overlong encoding", Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc0, 0x80]), Buffer.from('"}')])],
  ["UTF-16", Buffer.from('{"name":"a"}', "utf16le")],
  ["a raw control character", '{"name":"\u0001"}'],
  ["lists without end", `{"tags":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
];

for (const [what, body] of malformed) {
  test(`${what} as the body is 400 MALFORMED_BODY`, async () => {
    for (const place of places) {
      const answer = await callRest(server, place, body);
      expect([answer.status, answer.json.code, reasonOf(answer)]).toEqual([400, 3, "MALFORMED_BODY"]);
    }
  });
}

const refused: readonly [what: string, body: string, wrong: readonly string[]][] = [
  ["an unknown field", '{"nope":1}', ["nope UNKNOWN_FIELD"]],
  ["an unknown field deep inside", '{"inners":[{},{"id":"a","nope":1}]}', ["inners[1].nope UNKNOWN_FIELD"]],
  ["__proto__", '{"__proto__":{"name":"a"}}', ["__proto__ UNKNOWN_FIELD"]],
  ["constructor", '{"constructor":1,"toString":2}', ["constructor UNKNOWN_FIELD", "toString UNKNOWN_FIELD"]],
  ["a key twice", '{"name":"a","name":"a"}', ["name REPEATED_FIELD"]],
  ["a key twice, once escaped", '{"name":"a","\\u006eame":"b"}', ["name REPEATED_FIELD"]],
  ["a key twice, with blanks", `{"name":"a","name"${" ".repeat(200)}:"b"}`, ["name REPEATED_FIELD"]],
  ["a key twice deep inside", '{"inners":[{"id":"a"},{"id":"b","id":"c"}]}', ["inners[1].id REPEATED_FIELD"]],
  ["a key twice in a map", '{"labels":{"a.b":"a","a.b":"b"}}', ["labels.a.b REPEATED_FIELD"]],
  [
    "keys twice under an unknown field",
    '{"nope":{"name":1,"name":2,"inners":[{"id":1,"id":1}]}}',
    ["nope UNKNOWN_FIELD"],
  ],
  ["an unknown key twice", '{"nope":1,"nope":{"nope":1,"nope":2}}', ["nope UNKNOWN_FIELD"]],
  ["keys twice in an object where a text belongs", '{"name":{"a":1,"a":2}}', ["name WRONG_TYPE"]],
  ["keys twice in an object where a list belongs", '{"inners":{"id":1,"id":2}}', ["inners WRONG_TYPE"]],
  ["keys twice in a list where an object belongs", '{"inner":[{"id":"a","id":"b"}]}', ["inner WRONG_TYPE"]],
  [
    "a known key twice beside an unknown one",
    '{"nope":{},"name":"a","name":"b"}',
    ["name REPEATED_FIELD", "nope UNKNOWN_FIELD"],
  ],
  ["__proto__ twice", '{"labels":{"__proto__":"a","__proto__":"b"}}', ["labels.__proto__ REPEATED_FIELD"]],
  ["both spellings", '{"item_count":1,"itemCount":1}', ["itemCount REPEATED_FIELD"]],
  ["both members of a oneof", '{"left":"a","right":"b"}', ["right REPEATED_FIELD"]],
  ["null in a list", '{"tags":["a",null],"inners":[null]}', ["tags[1] NULL_ITEM", "inners[0] NULL_ITEM"]],
  ["null in a map", '{"labels":{"a":null}}', ['labels["a"] NULL_ITEM']],
  ["a lone surrogate", '{"name":"\\ud800","tags":["\\udc00"]}', ["name STRING_UNICODE", "tags[0] STRING_UNICODE"]],
  [
    "an enum value that has no such name",
    '{"kind":"KIND_FLAT","kinds":[0,"X"]}',
    ["kind ENUM_DEFINED_ONLY", "kinds[1] ENUM_DEFINED_ONLY"],
  ],
  [
    "every scalar of a wrong type",
    '{"name":1,"itemCount":"x","on":"true","kind":true,"data":5,"ratio":"x","whole":-1,"inner":[],"tags":{},"labels":[]}',
    [
      ...["name WRONG_TYPE", "itemCount WRONG_TYPE", "on WRONG_TYPE", "kind WRONG_TYPE", "data WRONG_TYPE"],
      ...["ratio WRONG_TYPE", "whole OUT_OF_RANGE", "inner WRONG_TYPE", "tags WRONG_TYPE", "labels WRONG_TYPE"],
    ],
  ],
  [
    "numbers out of range",
    '{"itemCount":2147483648,"whole":"18446744073709551616"}',
    ["itemCount OUT_OF_RANGE", "whole OUT_OF_RANGE"],
  ],
  [
    "objects with the names of methods, where numbers belong",
    '{"itemCount":{"toString":1},"whole":[{"valueOf":null}],"ratio":{"toString":{"toJSON":1}},"kind":{"constructor":{}}}',
    ["itemCount WRONG_TYPE", "whole WRONG_TYPE", "ratio WRONG_TYPE", "kind WRONG_TYPE"],
  ],
  [
    "objects with the names of methods, where anything else belongs",
    '{"name":{"toString":1},"data":{"length":9},"at":{"then":1},"flag":{"__proto__":1},"inners":{"length":2},"kinds":[{"toString":1}]}',
    [
      ...["name WRONG_TYPE", "data WRONG_TYPE", "at WRONG_TYPE", "flag WRONG_TYPE", "inners WRONG_TYPE"],
      "kinds[0] WRONG_TYPE",
    ],
  ],
  ["a number of more digits than any has", `{"whole":"${"1".repeat(1000)}"}`, ["whole OUT_OF_RANGE"]],
  ["a fraction for a whole number", '{"itemCount":1.5}', ["itemCount WRONG_TYPE"]],
  ["a duration with a tail", '{"wait":"5sec"}', ["wait WRONG_TYPE"]],
  ["a duration without its unit", '{"wait":"5"}', ["wait WRONG_TYPE"]],
  ["a duration as a number", '{"wait":5}', ["wait WRONG_TYPE"]],
  ["a duration out of range", '{"wait":"315576000001s"}', ["wait WRONG_TYPE"]],
  ["a time on the 30th of February", '{"at":"2024-02-30T00:00:00Z"}', ["at WRONG_TYPE"]],
  ["a time without a zone", '{"at":"2024-02-01T00:00:00"}', ["at WRONG_TYPE"]],
  ["a wrapper of a wrong type", '{"flag":"yes"}', ["flag WRONG_TYPE"]],
  [
    "what cannot be read together with broken rules",
    '{"name":"too long","nope":1,"tags":["a","a"],"kinds":["X","Y"]}',
    [
      "nope UNKNOWN_FIELD",
      "kinds[0] ENUM_DEFINED_ONLY",
      "kinds[1] ENUM_DEFINED_ONLY",
      "name STRING_MAX_LEN",
      "tags REPEATED_UNIQUE",
    ],
  ],
  [
    "a list whose broken items are not mistaken for equal ones",
    '{"tags":[1,2]}',
    ["tags[0] WRONG_TYPE", "tags[1] WRONG_TYPE"],
  ],
  [
    "a list that is too long and has items that cannot be read",
    '{"tags":["a","b","c",4]}',
    ["tags[3] WRONG_TYPE", "tags REPEATED_MAX_ITEMS"],
  ],
];

for (const [what, body, wrong] of refused) {
  test(`${what} is refused by its path`, async () => {
    for (const place of places) {
      const answer = await callRest(server, place, body);
      expect([answer.status, reasonOf(answer), wrongFields(answer)]).toEqual([400, "VALIDATION_FAILED", wrong]);
    }
  });
}

const metadataOf = ({ json }: Awaited<ReturnType<typeof callRest>>) => json.details?.[0]?.metadata;

test("a million wrong items are refused with an end to the list, and with how many were found at least", async () => {
  const answer = await callRest(server, "POST /do", `{"nope":1,"tags":[${"1,".repeat(1_000_000)}1]}`);
  expect(wrongFields(answer)).toHaveLength(100);
  expect(metadataOf(answer)).toMatchObject({ omitted: "900", omittedIsLowerBound: "true" });
});

test("150 wrong items are all counted", async () => {
  const answer = await callRest(server, "POST /do", `{"nope":1,"kinds":[${"{},".repeat(148)}{}]}`);
  expect(wrongFields(answer)).toHaveLength(100);
  expect(metadataOf(answer)).toEqual({
    fields: expect.stringMatching(/^nope, kinds\[0\]/),
    omitted: "50",
  });
});

test.each([
  ["under a key of a million characters", `{"${"A".repeat(1_000_000)}":{${'"a":1,"a":1,'.repeat(200)}"b":1}}`],
  ["under a key of three million characters", `{"${"A".repeat(3_000_000)}":{${'"a":1,"a":1,'.repeat(80_000)}"b":1}}`],
])("many keys twice %s are refused as one unknown field, whose path is cut", async (_where, body) => {
  for (const place of places) {
    const answer = await callRest(server, place, body);
    expect(wrongFields(answer)).toEqual([`${"A".repeat(199)}… UNKNOWN_FIELD`]);
    expect(JSON.stringify(answer.json).length).toBeLessThan(2000);
  }
});

test("keys of a map are cut in paths", async () => {
  const answer = await callRest(server, "POST /do", { labels: { ["k".repeat(1000)]: 1 } });
  expect(wrongFields(answer)).toEqual([expect.stringMatching(/^labels\["k{191}… WRONG_TYPE$/)]);
});

test("100,000 keys twice in a message end the search", async () => {
  const answer = await callRest(server, "POST /do", `{"inners":[${'{"id":"a","id":"b"},'.repeat(100_000)}{}]}`);
  expect(wrongFields(answer)).toHaveLength(100);
  expect(metadataOf(answer)).toMatchObject({ omitted: "900", omittedIsLowerBound: "true" });
});

test("messages that nest without end are refused", async () => {
  const nested = `${'{"inner":'.repeat(150)}{}${"}".repeat(150)}`;
  expect((await callRest(server, "POST /do", nested)).status).toBe(400);
});
