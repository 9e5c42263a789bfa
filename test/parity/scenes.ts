import { applicationScenes } from "./scenes_application.ts";
import { everyScenes } from "./scenes_every.ts";
import { grantScenes } from "./scenes_grant.ts";
import { importScenes } from "./scenes_import.ts";
import { ownScenes } from "./scenes_own.ts";
import { passwordScenes } from "./scenes_password.ts";
import { phoneScenes } from "./scenes_phone.ts";
import { refusedScenes } from "./scenes_refused.ts";
import { wireScenes } from "./scenes_wire.ts";

const all = [
  ...[passwordScenes, phoneScenes, applicationScenes, grantScenes, everyScenes, ownScenes, refusedScenes],
  wireScenes,
  importScenes,
];

/** Every call that is made through every door, with its title. */
export const scenes = all.flat().map((scene) => [`${scene.rpc}: ${scene.name}`, scene] as const);
