import { call } from "./call.ts";
import type { Commands } from "./command.ts";
import { doctor } from "./doctor.ts";
import { exportEvents } from "./export_events.ts";
import { health } from "./health.ts";
import { bootstrap, migrate, recover } from "./maintenance.ts";
import { proto } from "./proto.ts";
import { replay } from "./replay.ts";
import { rotateSigningKeys } from "./rotate_signing_keys.ts";
import { serve } from "./serve.ts";
import { exportAll, exportUser, importFrom } from "./transfers.ts";
import { showVersion } from "./version.ts";
import { watch } from "./watch.ts";

/** Every command, in the order of the list. To add one, declare it in a file of its own and add a line here. */
export const commands: Commands = {
  serve,
  migrate,
  bootstrap,
  doctor,
  health,
  recover,
  "rotate-signing-keys": rotateSigningKeys,
  call,
  watch,
  replay,
  import: importFrom,
  export: exportAll,
  "export-events": exportEvents,
  "export-user": exportUser,
  proto,
  version: showVersion,
};
