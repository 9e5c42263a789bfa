import { type Called, jsonPieces, jsonText, messageOf, type Piece, pathOf, queryOf } from "./called.ts";

/** A call in one language. It uses the environment variables URL, TOKEN and one per parameter. */
export type Sample = { readonly language: string; readonly code: string };

/** A call in the shell, over gRPC, and in TypeScript, Go and Python, each using only the standard tools of the language. */
export const samplesOf = (called: Called): readonly Sample[] => [
  { language: "curl", code: curl(called) },
  { language: "grpcurl", code: grpcurl(called) },
  { language: "TypeScript", code: typescript(called) },
  { language: "Go", code: go(called) },
  { language: "Python", code: python(called) },
];

const lines = (...all: readonly (string | false)[]) => all.filter((one) => one !== false).join("\n");

/** Joins the pieces of a text, each written for a language. */
const joined = (
  pieces: readonly Piece[],
  { text, variable }: { text: (text: string) => string; variable: (name: string) => string },
) => pieces.map((piece) => ("text" in piece ? text(piece.text) : variable(piece.variable)));

const inShell = (text: string) => text.replaceAll("'", "'\\''");

function curl(called: Called): string {
  const path = joined(pathOf(called), { text: (text) => text, variable: (name) => `$\{${name}}` }).join("");
  const hasBody = called.body !== undefined;
  const options = [
    ...queryOf(called).map(({ name, variable }) => `--url-query "${name}=$\{${variable}}"`),
    ...(called.needsToken ? [`-H "authorization: Bearer $TOKEN"`] : []),
    ...(hasBody ? ["-H 'content-type: application/json'", `-d '${inShell(jsonText(called.body))}'`] : []),
  ];
  const first = `curl ${called.isStream ? "-N " : ""}-X ${called.verb} "$\{URL}${path}"`;
  return [first, ...options].join(" \\\n  ");
}

function grpcurl(called: Called): string {
  const message = messageOf(called);
  const json = joined(jsonPieces(message), { text: inShell, variable: (name) => `'"$${name}"'` }).join("");
  const options = [
    ...(called.needsToken ? [`-H "authorization: Bearer $TOKEN"`] : []),
    ...(Object.keys(message).length > 0 ? [`-d '${json}'`] : []),
    `"$\{URL#*://}" ${called.rpc.slice(1)}`,
  ];
  return ["grpcurl -plaintext", ...options].join(" \\\n  ");
}

const indented = (text: string, by: string) => text.replaceAll("\n", `\n${by}`);

function typescript(called: Called): string {
  const variable = (name: string) => `$\{process.env.${name}}`;
  const path = joined(pathOf(called), { text: (text) => text, variable }).join("");
  const query = queryOf(called).map((one) => `${one.prefix}$\{encodeURIComponent(process.env.${one.variable} ?? "")}`);
  const hasBody = called.body !== undefined;
  const headers = [
    ...(called.needsToken ? [`authorization: \`Bearer ${variable("TOKEN")}\``] : []),
    ...(hasBody ? [`"content-type": "application/json"`] : []),
  ].join(", ");
  const body = jsonText(called.body ?? null).replaceAll(/"(?:[^"\\]|\\.)*":?/g, unquotedKey);
  return lines(
    `const response = await fetch(\`${variable("URL")}${path}${query.join("")}\`, {`,
    `  method: "${called.verb}",`,
    headers !== "" && `  headers: { ${headers} },`,
    hasBody && `  body: JSON.stringify(${indented(body, "  ")}),`,
    "});",
    ...(called.isStream
      ? ["for await (const bytes of response.body ?? []) process.stdout.write(bytes);"]
      : ["console.log(response.status, await response.json());"]),
  );
}

/** A JSON key as TypeScript writes it; any other text unchanged. */
const unquotedKey = (text: string) => /^"([A-Za-z_]\w*)":$/.exec(text)?.[1]?.concat(":") ?? text;

const quoted = (text: string) => JSON.stringify(text);

function go(called: Called): string {
  const environment = (name: string) => `os.Getenv("${name}")`;
  const query = queryOf(called);
  const target = [
    environment("URL"),
    ...joined(pathOf(called), { text: quoted, variable: environment }),
    ...query.flatMap(({ prefix, variable }) => [quoted(prefix), `url.QueryEscape(${environment(variable)})`]),
  ].join(" + ");
  const hasBody = called.body !== undefined;
  const json = jsonText(called.body ?? null);
  const body = json.includes("`") ? quoted(json) : `\`${json}\``;
  return lines(
    "package main",
    "",
    "import (",
    `\t"fmt"\n\t"io"\n\t"net/http"`,
    query.length > 0 && `\t"net/url"`,
    `\t"os"`,
    hasBody && `\t"strings"`,
    ")",
    "",
    "func main() {",
    hasBody && `\tbody := strings.NewReader(${body})`,
    `\trequest, err := http.NewRequest("${called.verb}", ${target}, ${hasBody ? "body" : "nil"})`,
    ...panics,
    called.needsToken && `\trequest.Header.Set("authorization", "Bearer "+${environment("TOKEN")})`,
    hasBody && `\trequest.Header.Set("content-type", "application/json")`,
    "\tresponse, err := http.DefaultClient.Do(request)",
    ...panics,
    "\tdefer response.Body.Close()",
    "\tfmt.Println(response.Status)",
    "\tio.Copy(os.Stdout, response.Body)",
    "}",
  );
}

const panics = ["\tif err != nil {", "\t\tpanic(err)", "\t}"];

function python(called: Called): string {
  const environment = (name: string) => `os.environ["${name}"]`;
  const target = [
    environment("URL"),
    ...joined(pathOf(called), { text: quoted, variable: environment }),
    ...queryOf(called).flatMap(({ prefix, variable }) => [
      quoted(prefix),
      `urllib.parse.quote(${environment(variable)})`,
    ]),
  ].join(" + ");
  const hasBody = called.body !== undefined;
  const headers = [
    ...(called.needsToken ? [`"authorization": "Bearer " + ${environment("TOKEN")}`] : []),
    ...(hasBody ? [`"content-type": "application/json"`] : []),
  ].join(", ");
  return lines(
    `import json, os, urllib.error, urllib.parse, urllib.request`,
    "",
    "request = urllib.request.Request(",
    `    ${target},`,
    `    method="${called.verb}",`,
    headers !== "" && `    headers={${headers}},`,
    hasBody && `    data=json.dumps(${indented(inPython(called.body), "    ")}).encode(),`,
    ")",
    "try:",
    "    with urllib.request.urlopen(request) as response:",
    ...(called.isStream
      ? ["        for line in response:", "            print(json.loads(line))"]
      : ["        print(response.status, json.load(response))"]),
    "except urllib.error.HTTPError as error:",
    "    print(error.code, error.read().decode())",
  );
}

/** JSON as a Python literal: JSON's keywords occur outside of its strings. */
const inPython = (value: unknown): string =>
  jsonText(value).replaceAll(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (part) => pythonWords[part] ?? part);

const pythonWords: Readonly<Record<string, string>> = { true: "True", false: "False", null: "None" };
