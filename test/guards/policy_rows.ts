import type { Row } from "./matrix_rows.ts";

/** The rows of rpcs about policies. */
export const policyRows: Readonly<Record<string, Row>> = {
  "PolicyService.GetPasswordPolicy": {
    needs: "policy.read",
    decides: "organization",
    objectless: true,
    ownOrganization: true,
    request: () => ({}),
  },
  "PolicyService.SetPasswordPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({ policy: { minimumLength: 8, requiresUpper: true } }),
  },
  "PolicyService.GetLockoutPolicy": {
    needs: "policy.read",
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
  "PolicyService.SetLockoutPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({ policy: { maximumAttempts: 10 } }),
  },
  "PolicyService.GetFactorPolicy": {
    needs: "policy.read",
    decides: "organization",
    objectless: true,
    ownOrganization: true,
    request: () => ({}),
  },
  "PolicyService.SetFactorPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({ policy: { requirement: "FACTOR_REQUIREMENT_OPTIONAL" } }),
  },
  "PolicyService.ResetFactorPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
  "PolicyService.GetPrivacyPolicy": {
    needs: "policy.read",
    decides: "organization",
    objectless: true,
    ownOrganization: true,
    request: () => ({}),
  },
  "PolicyService.SetPrivacyPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({ policy: { restoreDays: 7 } }),
  },
  "PolicyService.ResetPrivacyPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
  "PolicyService.GetRetentionPolicy": { needs: "instance.read", decides: "instance", request: () => ({}) },
  "PolicyService.SetRetentionPolicy": {
    needs: "instance.write",
    decides: "instance",
    freshSignIn: true,
    request: () => ({ policy: { signInDays: 36_500 } }),
  },
  "PolicyService.GetRegistrationPolicy": {
    needs: "policy.read",
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
  "PolicyService.SetRegistrationPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({ policy: { audience: "REGISTRATION_AUDIENCE_NOBODY" } }),
  },
  "PolicyService.ResetRegistrationPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
  "PolicyService.ResetRetentionPolicy": { needs: "instance.write", decides: "instance", request: () => ({}) },
  "PolicyService.ResetPasswordPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
  "PolicyService.ResetLockoutPolicy": {
    needs: "policy.write",
    decides: "organization",
    objectless: true,
    request: () => ({}),
  },
};
