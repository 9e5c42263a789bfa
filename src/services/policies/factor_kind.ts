/** The kind of a factor, as it is stored. */
export type FactorKindName = "totp" | "passkey" | "recovery_codes";
