// A page whose users sign in at Postern: a code and PKCE, no secret, and no server of its own but for files.
const { UserManager } = globalThis.oidc; // With a bundler: import { UserManager } from "oidc-client-ts"

const manager = new UserManager({
  ...(await (await fetch("/settings.json")).json()),
  redirect_uri: `${location.origin}/callback`,
  post_logout_redirect_uri: `${location.origin}/signed-out`,
  scope: "openid profile roles offline_access",
  loadUserInfo: true,
});

// The library gets new tokens a minute before the old ones expire, and fires these.
manager.events.addUserLoaded(show);
manager.events.addUserUnloaded(() => show(null));
manager.events.addSilentRenewError(hasEnded);

const buttons = {
  "sign-in": () => manager.signinRedirect(),
  renew: () => manager.signinSilent().catch(hasEnded),
  "sign-out": () => manager.signoutRedirect(),
};
for (const [id, act] of Object.entries(buttons)) elementOf(id).addEventListener("click", () => act().catch(report));

try {
  // Postern leads back to these paths; their parameters leave the address, so that a reload does not present them again.
  if (location.pathname === "/callback") await manager.signinCallback();
  if (location.pathname === "/signed-out") await manager.signoutCallback();
  show(await manager.getUser());
} catch (error) {
  report(error);
}
history.replaceState(null, "", "/");

function show(user) {
  const roles = user?.profile.roles?.join(", ") || "none";
  elementOf("state").textContent = user
    ? `Signed in as ${user.profile.preferred_username}, roles: ${roles}`
    : "Nobody is signed in";
  for (const id of ["renew", "sign-out"]) elementOf(id).hidden = !user;
  elementOf("sign-in").hidden = Boolean(user);
}

/** Forgets a user whose sign-in has ended at Postern; whatever else went wrong may go well the next time. */
async function hasEnded(error) {
  if (error.error === "invalid_grant" || error.error === "login_required") await manager.removeUser();
  else report(error);
}

function report(error) {
  show(null);
  elementOf("state").textContent = `That did not work: ${error.message}`;
}

function elementOf(id) {
  return document.getElementById(id);
}
