import type { JsonObject } from "@bufbuild/protobuf";
import type { Completion } from "../../services/sessions/complete_session.ts";
import { bounded, type Parameters } from "../http/parameters.ts";

const longestCode = 200;
// A form holds no more, and an answer of WebAuthn takes a tenth of it.
const longestCredential = 12_000;

/** Reads the factor of a form: the answer of a passkey, six digits of an app, or a recovery code. */
export function answerIn(form: Parameters): Completion["answer"] {
  const passkey = credentialIn(form);
  if (passkey) return { case: "passkey", value: passkey };
  const value = bounded(form, "code", longestCode)?.replaceAll(/\s/g, "") ?? "";
  return { case: /^\d{6}$/.test(value) ? "totpCode" : "recoveryCode", value };
}

/** Reads the answer of WebAuthn that a form holds as JSON; an empty one where it is no JSON object, and undefined without it. */
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
