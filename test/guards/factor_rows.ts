import type { Row } from "./matrix_rows.ts";

const own = (request: object = {}): Row => ({
  needs: "caller",
  decides: "nobody",
  request: () => ({ ...request }),
});
const fresh: Row = { ...own(), freshSignIn: true };

/** The rows of rpcs about factors beside the password, and of sign-ins by them. */
export const factorRows: Readonly<Record<string, Row>> = {
  "FactorService.StartTotp": fresh,
  "FactorService.ConfirmTotp": own({ code: "123456", name: "Phone" }),
  "FactorService.StartPasskey": fresh,
  "FactorService.ConfirmPasskey": own({ credential: { id: "none" }, name: "Key" }),
  "FactorService.GenerateRecoveryCodes": fresh,
  "FactorService.RenameFactor": {
    needs: "user.write",
    decides: "user",
    request: async (f) => ({ ...(await f.newFactor()), name: "New phone" }),
  },
  "FactorService.ListFactors": { needs: "user.read", decides: "user", request: ({ userId }) => ({ userId }) },
  "FactorService.RemoveFactor": {
    needs: "user.write",
    decides: "user",
    freshSignIn: true,
    request: (f) => f.newFactor(),
  },
  "SessionService.CompleteSession": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 400, reason: "CHALLENGE_INVALID" },
    request: () => ({ pendingToken: "none", totpCode: "123456" }),
  },
  "SessionService.StartPasskeySession": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 200 },
    request: () => ({}),
  },
  "SessionService.CreatePasskeySession": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 400, reason: "CHALLENGE_INVALID" },
    request: () => ({ challengeToken: "none", credential: { id: "none" } }),
  },
  "SessionService.StartMailSession": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 200 },
    request: () => ({ loginName: "nobody" }),
  },
  "SessionService.CreateMailSession": {
    needs: "anyone",
    decides: "nobody",
    unknownCaller: { status: 400, reason: "CHALLENGE_INVALID" },
    request: () => ({ challengeToken: "none", verificationCode: "none" }),
  },
};
