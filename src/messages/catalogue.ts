import type { Language } from "./language.ts";
import { accessTokenTexts } from "./refusals/access_token.ts";
import { applicationTexts } from "./refusals/application.ts";
import { bodyTexts } from "./refusals/body.ts";
import { brandingTexts } from "./refusals/branding.ts";
import { callTexts } from "./refusals/call.ts";
import { codeTexts } from "./refusals/code.ts";
import { complianceTexts } from "./refusals/compliance.ts";
import { domainTexts } from "./refusals/domain.ts";
import { emailTexts } from "./refusals/email.ts";
import { eventTexts } from "./refusals/event.ts";
import { factorTexts } from "./refusals/factor.ts";
import { fieldTexts } from "./refusals/field.ts";
import { grantTexts } from "./refusals/grant.ts";
import { importTexts } from "./refusals/import.ts";
import { invitationTexts } from "./refusals/invitation.ts";
import { keyTexts } from "./refusals/key.ts";
import { listTexts } from "./refusals/list.ts";
import { machineTexts } from "./refusals/machine.ts";
import { maskTexts } from "./refusals/mask.ts";
import { memberTexts } from "./refusals/member.ts";
import { objectTexts } from "./refusals/object.ts";
import { organizationTexts } from "./refusals/organization.ts";
import { originTexts } from "./refusals/origin.ts";
import { passwordTexts } from "./refusals/password.ts";
import { phoneTexts } from "./refusals/phone.ts";
import { projectTexts } from "./refusals/project.ts";
import { registrationTexts } from "./refusals/registration.ts";
import { resourceUriTexts } from "./refusals/resource_uri.ts";
import { roleTexts } from "./refusals/role.ts";
import { signInTexts } from "./refusals/sign_in.ts";
import { subscriptionTexts } from "./refusals/subscription.ts";
import { userTexts } from "./refusals/user.ts";

export { chooseLanguage, type Language } from "./language.ts";

const catalogue = {
  ...callTexts,
  ...bodyTexts,
  ...fieldTexts,
  ...accessTokenTexts,
  ...applicationTexts,
  ...brandingTexts,
  ...codeTexts,
  ...complianceTexts,
  ...domainTexts,
  ...emailTexts,
  ...eventTexts,
  ...factorTexts,
  ...grantTexts,
  ...importTexts,
  ...invitationTexts,
  ...keyTexts,
  ...listTexts,
  ...machineTexts,
  ...maskTexts,
  ...memberTexts,
  ...objectTexts,
  ...organizationTexts,
  ...originTexts,
  ...passwordTexts,
  ...phoneTexts,
  ...projectTexts,
  ...registrationTexts,
  ...resourceUriTexts,
  ...roleTexts,
  ...signInTexts,
  ...subscriptionTexts,
  ...userTexts,
};

/** The name of a text: the reason of a refusal, a broken password rule, or a compliance problem. */
export type TextKey = keyof typeof catalogue;

/** The compliance problems that an application can have. */
export type ComplianceKey = keyof typeof complianceTexts;

/** The values for the names in braces of a text. */
export type TextParams = Readonly<Record<string, string | number>>;

/** The names of all texts. */
export const textKeys = (): TextKey[] => Object.keys(catalogue).filter(isTextKey);

/** The parameters of a text, each with its own name in braces as its value. */
export const namesIn = (key: TextKey): TextParams =>
  Object.fromEntries([...catalogue[key].en.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => [name, `{${name}}`]));

/** Whether there is a text of this name. */
export function isTextKey(key: string): key is TextKey {
  return Object.hasOwn(catalogue, key);
}

/** Returns a text as a sentence in the language. */
export function text(key: TextKey, language: Language, params: TextParams = {}): string {
  return catalogue[key][language].replace(/\{(\w+)\}/g, (_, name: string) => filled(params, name));
}

/** Returns a text in English as an error message: no capital at the start, no full stop at the end. */
export function errorText(key: TextKey, params: TextParams = {}): string {
  return text(key, "en", params)
    .replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase())
    .replace(/\.$/, "");
}

function filled(params: TextParams, name: string): string {
  return Object.hasOwn(params, name) ? String(params[name]) : "…";
}
