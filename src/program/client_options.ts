import type { Target } from "../client/connection.ts";
import type { CommandLine, CommandOption } from "./command.ts";

export const targetOptions: readonly CommandOption[] = [
  { name: "url", value: "URL", about: "the service; by default the one on this machine with these settings" },
  {
    name: "token-file",
    value: "FILE",
    about:
      "a file with a token; by default POSTERN_ADMIN_TOKEN, or, for the service with these settings, the first administrator's token",
  },
  { name: "organization", value: "ID", about: "the organization to work in; by default the caller's own" },
  { name: "ca-file", value: "FILE", about: "certificate authorities to trust, in PEM" },
];

/** The service selected by the options. */
export function targetOf({ text }: CommandLine): Target {
  return {
    url: text("url"),
    tokenFile: text("token-file"),
    organization: text("organization"),
    caFile: text("ca-file"),
  };
}
