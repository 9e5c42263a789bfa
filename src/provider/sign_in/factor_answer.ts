import type { JsonObject } from "@bufbuild/protobuf";
import type { Completion } from "../../services/sessions/complete_session.ts";
import { bounded, type Parameters } from "../http/parameters.ts";

const longestCode = 200;
// No form may hold more; a WebAuthn response needs a tenth of it.
const longestCredential = 12_000;

/** Reads the factor in a form: a passkey response, six digits from an app, or a recovery code. */
export function answerIn(form: Parameters): Completion["answer"] {
  const passkey = credentialIn(form);
  if (passkey) return { case: "passkey", value: passkey };
  const value = bounded(form, "code", longestCode)?.replaceAll(/\s/g, "") ?? "";
  return { case: /^\d{6}$/.test(value) ? "totpCode" : "recoveryCode", value };
}

/** Reads a form's WebAuthn response, which is JSON; an empty object if it is not a JSON object, undefined if it is absent. */
export function credentialIn(form: Parameters): JsonObject | undefined {
  const text = form.get("credential");
  return text === undefined ? undefined : objectIn(text);
}

function objectIn(text: string): JsonObject {
  if (text.length > longestCredential) return {};
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}
