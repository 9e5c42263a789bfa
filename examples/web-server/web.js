// Pages and cookies. A framework does this in a larger application.

/** Shows a page. */
export function show(response, status, body) {
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>My app</title><h1>My app</h1>${body}</html>`;
  const headers = { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" };
  response.writeHead(status, headers).end(page);
}

/** Leads the browser on, by a GET whatever the request was. */
export function redirect(response, location) {
  response.writeHead(303, { location, "cache-control": "no-store" }).end();
}

/** A text as HTML. */
export const escaped = (text = "") => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The value of a cookie, empty where there is none. */
export function cookieIn({ headers }, name) {
  const pairs = (headers.cookie ?? "").split("; ").map((pair) => pair.split("="));
  return pairs.find(([key]) => key === name)?.[1] ?? "";
}

/** Sets a cookie that scripts cannot read and other sites cannot send by a form; without a value it is removed. */
export function setCookie(response, name, value, isSecure) {
  const age = value ? "" : "; Max-Age=0";
  response.appendHeader(
    "set-cookie",
    `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${age}${isSecure ? "; Secure" : ""}`,
  );
}
