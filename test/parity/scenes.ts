import { addressScenes } from "./scenes_address.ts";
import { apiApplicationScenes } from "./scenes_api_application.ts";
import { applicationScenes } from "./scenes_application.ts";
import { authorizationScenes } from "./scenes_authorization.ts";
import { brandingScenes } from "./scenes_branding.ts";
import { consentScenes } from "./scenes_consent.ts";
import { emailScenes } from "./scenes_email.ts";
import { everyScenes } from "./scenes_every.ts";
import { explanationScenes } from "./scenes_explanation.ts";
import { factorScenes } from "./scenes_factor.ts";
import { firstPartyScenes } from "./scenes_first_party.ts";
import { grantScenes } from "./scenes_grant.ts";
import { importScenes } from "./scenes_import.ts";
import { invitationScenes } from "./scenes_invitation.ts";
import { keyScenes } from "./scenes_key.ts";
import { lateScenes } from "./scenes_late.ts";
import { listScenes } from "./scenes_list.ts";
import { metadataScenes } from "./scenes_metadata.ts";
import { ownScenes } from "./scenes_own.ts";
import { passwordScenes } from "./scenes_password.ts";
import { passwordResetScenes } from "./scenes_password_reset.ts";
import { phoneScenes } from "./scenes_phone.ts";
import { refusedScenes } from "./scenes_refused.ts";
import { registrationScenes } from "./scenes_registration.ts";
import { stateScenes } from "./scenes_state.ts";
import { takenScenes } from "./scenes_taken.ts";
import { tokenScenes } from "./scenes_token.ts";
import { updateScenes } from "./scenes_update.ts";
import { userRoleScenes } from "./scenes_user_role.ts";
import { wireScenes } from "./scenes_wire.ts";

const all = [
  ...[passwordScenes, phoneScenes, applicationScenes, grantScenes, everyScenes, ownScenes, refusedScenes],
  ...[brandingScenes, stateScenes, tokenScenes, wireScenes, updateScenes, keyScenes, listScenes],
  ...[
    invitationScenes,
    registrationScenes,
    emailScenes,
    passwordResetScenes,
    importScenes,
    lateScenes,
    takenScenes,
    authorizationScenes,
    factorScenes,
  ],
  ...[firstPartyScenes, apiApplicationScenes, addressScenes, metadataScenes, consentScenes, userRoleScenes],
  ...[explanationScenes],
];

/** Every call that is made through every door, with its title. */
export const scenes = all.flat().map((scene) => [`${scene.rpc}: ${scene.name}`, scene] as const);
