/** An option of a command, for the command line and the manual page. */
export type CommandOption = {
  readonly name: string;
  readonly short?: string;
  /** The placeholder of its value; absent for a switch. */
  readonly value?: string;
  readonly about: string;
};

/** The arguments of a command: the minimum and maximum number, and how its usage shows them. */
export type Arguments = { readonly least: number; readonly most: number; readonly shown: string };

/** A parsed command line: options by name, and arguments in order. */
export type CommandLine = {
  /** The value of an option; undefined if it is absent. */
  readonly text: (name: string) => string | undefined;
  /** Whether a switch is set. */
  readonly has: (name: string) => boolean;
  readonly words: readonly string[];
};

/** A command of the program; its manual page is generated from the same declaration. */
export type Command = {
  /** One line for the list of commands. */
  readonly about: string;
  readonly takes?: Arguments;
  readonly options?: readonly CommandOption[];
  /** The paragraphs of its manual page. */
  readonly description?: readonly string[];
  /** Command lines and what they do. */
  readonly examples?: readonly (readonly [line: string, meaning: string])[];
  /** Returns the exit code. */
  readonly run: (line: CommandLine) => Promise<number>;
};

/** Commands by name, in the order of the list. */
export type Commands = Readonly<Record<string, Command>>;

/** The exit codes of the program. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  request: 3,
  caller: 4,
  missing: 5,
  state: 6,
  later: 7,
  service: 8,
};

/** The meanings of the exit codes, for the manual. */
export const exitMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: "done",
  failed: "a wrong setting, a failed start, a failed check, or refused items",
  usage: "the command line is wrong",
  request: "the request is wrong: INVALID_ARGUMENT, OUT_OF_RANGE",
  caller: "the caller may not do it: UNAUTHENTICATED, PERMISSION_DENIED",
  missing: "the object does not exist: NOT_FOUND",
  state: "the state does not allow it: ALREADY_EXISTS, FAILED_PRECONDITION, ABORTED",
  later: "a later try may succeed: UNAVAILABLE, RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, CANCELLED",
  service: "the service failed, or has no such method: INTERNAL, UNKNOWN, DATA_LOSS, UNIMPLEMENTED",
};
