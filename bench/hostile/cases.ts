import type { Case } from "./case.ts";
import { anyoneCases } from "./cases/anyone.ts";
import { documentCases } from "./cases/documents.ts";
import { floodCases } from "./cases/floods.ts";
import { headCases } from "./cases/heads.ts";
import { heldCases } from "./cases/held.ts";
import { jsonCases } from "./cases/json.ts";
import { messageCases } from "./cases/messages.ts";
import { signInCases } from "./cases/sign_in.ts";

/** Every way to attack. */
export const cases: readonly Case[] = [
  ...headCases,
  ...jsonCases,
  ...messageCases,
  ...anyoneCases,
  ...signInCases,
  ...documentCases,
  ...floodCases,
  ...heldCases,
];
