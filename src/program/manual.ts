import { styleText } from "node:util";
import { type Command, type CommandOption, type Commands, exitCodes, exitMeanings } from "./command.ts";

/** Renders a heading, in bold on a terminal unless NO_COLOR is set. */
const heading = (text: string): string => styleText("bold", text, { stream: process.stdout });

const width = 100;

/** The manual page of the whole program. */
export function programPage(commands: Commands): readonly string[] {
  const names = Object.entries(commands).map(([name, { about }]): Row => [name, about]);
  return [
    ...section("NAME", ["postern - an identity management server, its tools and its client"]),
    ...section("SYNOPSIS", ["postern [COMMAND] [OPTION...] [ARGUMENT...]", "postern help COMMAND"]),
    ...section("COMMANDS", rows(names)),
    ...section("EXIT STATUS", exitRows()),
    ...section("ENVIRONMENT", environment),
    ...section("FILES", rows(files)),
    ...section("EXAMPLES", examples(programExamples)).slice(0, -1),
  ];
}

const environment = [
  ...paragraph(
    "Every setting of the service is an environment variable, such as PORT, DATABASE_URL or POSTERN_DATA_DIR; docs/settings.md lists them. If a setting is wrong, the program stops with a message that names it. It warns of variables whose names look like a misspelled setting.",
  ),
  "",
  ...paragraph("Set NO_COLOR to any value to turn off colours in the output."),
];

const files: readonly Row[] = [
  ["./data", "the embedded database, the generated keys and the first secrets; POSTERN_DATA_DIR names another folder"],
];

const programExamples: Examples = [
  ["postern", "start the service; the first start creates an administrator and prints four calls"],
  ['postern call UserService/GetUser \'{"userId": "me"}\'', "call an operation"],
  ["postern help call", "show the page of a command"],
];

/** The manual page of one command. */
export function commandPage(name: string, command: Command): readonly string[] {
  const { about, description = [], options = [], examples: lines = [] } = command;
  const all: readonly CommandOption[] = [...options, { name: "help", short: "h", about: "show this page" }];
  const paragraphs = description.flatMap((text, index) => (index > 0 ? ["", ...paragraph(text)] : paragraph(text)));
  return [
    ...section("NAME", [`postern ${name} - ${about}`]),
    ...section("SYNOPSIS", [synopsis(name, command)]),
    ...(description.length > 0 ? section("DESCRIPTION", paragraphs) : []),
    ...section("OPTIONS", rows(all.map((option): Row => [shown(option), option.about]))),
    ...(lines.length > 0 ? section("EXAMPLES", examples(lines)) : []),
    ...section("EXIT STATUS", exitRows()).slice(0, -1),
  ];
}

/** The usage of a command in one line. */
export function synopsis(name: string, { takes, options = [] }: Command): string {
  const words = ["postern", name, ...(options.length > 0 ? ["[OPTION...]"] : []), ...(takes ? [takes.shown] : [])];
  return words.join(" ");
}

function shown({ name, short, value }: CommandOption): string {
  return `${short ? `-${short}, ` : ""}--${name}${value === undefined ? "" : ` ${value}`}`;
}

function exitRows(): readonly string[] {
  const meanings = Object.entries(exitMeanings) as [keyof typeof exitCodes, string][];
  return rows(meanings.map(([kind, meaning]): Row => [String(exitCodes[kind]), meaning]));
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return [heading(title), ...lines.map((line) => (line === "" ? "" : `  ${line}`)), ""];
}

type Row = readonly [term: string, meaning: string];

/** Terms with their meanings in a column, or below if a term is long. */
function rows(all: readonly Row[]): readonly string[] {
  const column = Math.min(24, Math.max(...all.map(([term]) => term.length)) + 2);
  return all.flatMap(([term, meaning]) => {
    const [first = "", ...more] = paragraph(meaning, width - 2 - column);
    const lines = term.length + 2 <= column ? [`${term.padEnd(column)}${first}`] : [term, " ".repeat(column) + first];
    return [...lines, ...more.map((line) => " ".repeat(column) + line)];
  });
}

type Examples = readonly (readonly [line: string, meaning: string])[];

function examples(all: Examples): readonly string[] {
  return all.flatMap(([line, meaning], index) => [...(index > 0 ? [""] : []), `${meaning}:`, `  ${line}`]);
}

/** Breaks a text into lines. */
function paragraph(text: string, most = width - 2): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > most) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
