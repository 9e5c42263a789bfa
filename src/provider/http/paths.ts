import { imagePaths } from "../../services/organizations/branding.ts";

/** All paths of the provider. */
export const paths = {
  configuration: "/.well-known/openid-configuration",
  authorizationServer: "/.well-known/oauth-authorization-server",
  resource: "/.well-known/oauth-protected-resource",
  keys: "/oauth/keys",
  authorize: "/oauth/authorize",
  pushedAuthorization: "/oauth/par",
  token: "/oauth/token",
  userinfo: "/oauth/userinfo",
  introspect: "/oauth/introspect",
  revoke: "/oauth/revoke",
  endSession: "/oauth/end-session",
  deviceAuthorization: "/oauth/device",
  firstRun: "/first-run",
  device: "/device",
  signIn: "/sign-in",
  mailedSignIn: "/sign-in/code",
  signOut: "/sign-out",
  forgottenPassword: "/password/forgotten",
  newPassword: "/password",
  firstPassword: "/invitation",
  organizationInvitation: "/invitation/organization",
  register: "/register",
  completeRegistration: "/register/complete",
  confirmEmail: "/email",
  restoreEmail: "/email/restore",
  style: "/sign-in/style.css",
  brandStyle: "/sign-in/brand.css",
  logo: imagePaths.logo,
  favicon: imagePaths.favicon,
  formPost: "/sign-in/form-post.js",
  script: "/sign-in/page.js",
  icon: "/favicon.ico",
  account: "/account",
  accountProfile: "/account/profile",
  accountEmail: "/account/email",
  accountPhone: "/account/phone",
  accountPassword: "/account/password",
  accountSessions: "/account/sessions",
  accountApplications: "/account/applications",
  accountInvitations: "/account/invitations",
  accountFactors: "/account/factors",
  accountDelete: "/account/delete",
  addFactor: "/account/factors/add",
} as const;

/** The path of the console. It is no route of the provider, but users sign in to it there. */
export const consolePath = "/console/";

const onTheWay: readonly string[] = [
  ...[paths.authorize, paths.signIn, paths.mailedSignIn, paths.addFactor, paths.forgottenPassword],
  ...[paths.register, paths.completeRegistration],
  ...[paths.endSession, paths.signOut],
];

/** Whether a path belongs to a sign-out. */
export const isSignOut = (path: string): boolean => path === paths.endSession || path === paths.signOut;

/** Whether a path lies on a browser's way from an application and back, in a window that the application may have opened. */
export const keepsOpener = (path: string): boolean => onTheWay.includes(path);
