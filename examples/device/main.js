// A command line tool whose users sign in at Postern: on a machine without a browser, by the device authorization grant (RFC 8628).
import { readFile, rm, writeFile } from "node:fs/promises";
import * as oidc from "openid-client";

const { ISSUER = "http://localhost:8080", CLIENT_ID = "", TOKEN_FILE = ".token" } = process.env;

const commands = { login, whoami, logout };

try {
  const command = commands[process.argv[2] ?? ""];
  if (!command || !CLIENT_ID) throw new Error("usage: CLIENT_ID=… node main.js login | whoami | logout");
  await command();
} catch (error) {
  console.error(sentenceOf(error));
  process.exitCode = 1;
}

/** Asks for a code, shows it, and waits until the user has entered it in a browser. */
async function login() {
  const client = await discovered();
  const codes = await oidc.initiateDeviceAuthorization(client, { scope: "openid profile offline_access" });
  console.log(`Open ${codes.verification_uri} on any device and enter ${codes.user_code},`);
  console.log(`or open ${codes.verification_uri_complete}`);
  const tokens = await oidc.pollDeviceAuthorizationGrant(client, codes);
  await keep(tokens);
  await show(client, tokens);
}

/** Gets fresh tokens without asking the user anything. */
async function whoami() {
  const client = await discovered();
  const tokens = await oidc.refreshTokenGrant(client, await kept());
  await keep(tokens);
  await show(client, tokens);
}

/** Ends the sign-in at Postern too: whoever has a copy of the token can do nothing with it. */
async function logout() {
  await oidc.tokenRevocation(await discovered(), await kept());
  await rm(TOKEN_FILE);
  console.log("Signed out");
}

function discovered() {
  const issuer = new URL(ISSUER);
  // Only a Postern on this very machine is without https.
  const options = issuer.protocol === "http:" ? { execute: [oidc.allowInsecureRequests] } : {};
  return oidc.discovery(issuer, CLIENT_ID, undefined, oidc.None(), options);
}

async function show(client, tokens) {
  const user = await oidc.fetchUserInfo(client, tokens.access_token, tokens.claims()?.sub ?? oidc.skipSubjectCheck);
  console.log(`Signed in as ${user.preferred_username}`);
}

/** Each use of a refresh token gives a new one, in a file that only this user reads. */
async function keep({ refresh_token = "" }) {
  await writeFile(TOKEN_FILE, refresh_token, { mode: 0o600 });
}

async function kept() {
  const token = await readFile(TOKEN_FILE, "utf8").catch(() => "");
  if (!token) throw new Error("nobody is signed in: run login first");
  return token;
}

function sentenceOf(error) {
  const code = error instanceof oidc.ResponseBodyError ? error.error : "";
  if (code === "access_denied") return "The sign-in was cancelled, or your account may not use this tool.";
  if (code === "expired_token") return "Nobody entered the code in time: run login again.";
  if (code === "invalid_grant") return "The sign-in has ended: run login again.";
  return error instanceof Error ? error.message : String(error);
}
