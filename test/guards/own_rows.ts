/** The answer to a human without any role that calls with `me` in place of a user's id. */
export type OwnRow = {
  readonly says:
    | "OK"
    | "PERMISSION_DENIED"
    | "PHONE_MISSING"
    | "CODE_EXPIRED"
    | "TOKEN_NOT_FOUND"
    | "USER_NOT_MACHINE"
    | "FACTOR_NOT_FOUND"
    | "CONNECTION_NOT_FOUND"
    | "INVITATION_NOT_FOUND"
    | "ORGANIZATION_NOT_FOUND";
  /** The fields of the request beside the id. */
  readonly request?: Readonly<Record<string, string | object>>;
};

const denied: OwnRow = { says: "PERMISSION_DENIED" };

/** One row for each rpc where `me` stands for the caller. */
export const ownRows: Readonly<Record<string, OwnRow>> = {
  "SessionService.ListSessions": { says: "OK" },
  "SessionService.DeleteUserSessions": { says: "OK" },
  "ConsentService.ListConnectedApplications": { says: "OK" },
  "ConsentService.DisconnectApplication": { says: "CONNECTION_NOT_FOUND", request: { appId: "none" } },
  "FactorService.ListFactors": { says: "OK" },
  "FactorService.RenameFactor": { says: "FACTOR_NOT_FOUND", request: { factorId: "none", name: "Phone" } },
  "FactorService.RemoveFactor": { says: "FACTOR_NOT_FOUND", request: { factorId: "none" } },
  "UserService.GetUser": { says: "OK" },
  "UserService.ChangePhone": { says: "OK", request: { phone: "+41446681800" } },
  "UserService.VerifyPhone": { says: "PHONE_MISSING", request: { verificationCode: "234567" } },
  "UserService.ResendPhoneCode": { says: "PHONE_MISSING" },
  "UserService.RemovePhone": { says: "OK" },
  "UserService.ChangeEmail": { says: "OK", request: { email: "ada@example.org" } },
  "UserService.VerifyEmail": { says: "CODE_EXPIRED", request: { verificationCode: "234567" } },
  "UserService.ResendEmailCode": { says: "OK" },
  "UserService.GetUserMetadata": { says: "OK" },
  "UserService.SetUserMetadata": { ...denied, request: { entries: [{ key: "plan", value: "gold" }] } },
  "UserService.InviteUser": denied,
  "UserService.DeactivateUser": denied,
  "UserService.ReactivateUser": denied,
  "UserService.UnlockUser": denied,
  "UserService.UpdateHumanUser": { says: "OK", request: { human: { givenName: "Eve" } } },
  "UserService.UpdateMachineUser": { ...denied, request: { machine: { name: "Eve" } } },
  "UserService.ChangeUsername": { ...denied, request: { username: "eve" } },
  "UserService.CreateAccessToken": { says: "OK" },
  "UserService.ListAccessTokens": { says: "OK" },
  "UserService.RevokeAccessToken": { says: "TOKEN_NOT_FOUND", request: { tokenId: "none" } },
  "MachineCredentialService.CreateMachineSecret": denied,
  "MachineCredentialService.AddMachineKey": denied,
  "MachineCredentialService.ListMachineCredentials": { says: "USER_NOT_MACHINE" },
  "MachineCredentialService.SetMachineDelegation": denied,
  "MachineCredentialService.GetMachineDelegation": { says: "USER_NOT_MACHINE" },
  "MachineCredentialService.RemoveMachineCredential": { ...denied, request: { credentialId: "none" } },
  "UserExportService.ExportUser": { says: "OK" },
  "UserRoleService.ListUserRoles": { says: "OK" },
  "UserRoleService.EndUserRoles": { says: "ORGANIZATION_NOT_FOUND", request: { organizationId: "none" } },
  "UserRoleService.ListEndedUserRoles": { says: "OK" },
  "UserRoleService.AllowUserRoles": { says: "OK", request: { organizationId: "none" } },
  "UserGrantService.AddUserGrant": { ...denied, request: { projectId: "none", roleKeys: ["viewer"] } },
  "UserGrantService.ListUserGrants": { says: "OK" },
  "InvitationService.ListReceivedInvitations": { says: "OK" },
  "InvitationService.DeclineReceivedInvitation": { says: "INVITATION_NOT_FOUND", request: { invitationId: "none" } },
  "MemberService.AddMember": { ...denied, request: { roles: ["ORG_OWNER"] } },
  "MemberService.ChangeMember": { ...denied, request: { roles: ["ORG_OWNER"] } },
  "MemberService.RemoveMember": denied,
  "ExplanationService.ExplainSignIn": { ...denied, request: { projectId: "none", appId: "none" } },
  "ExplanationService.ExplainDecision": { says: "OK", request: { projectId: "none", roleKey: "viewer" } },
};
