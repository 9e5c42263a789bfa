/** Whether a URI that an administrator registers may be called: https, without user information, fragment or whitespace. */
export function isOutgoingUri(text: string): boolean {
  if (!/^https:\/\/[^\s\p{Cc}\p{Cf}\\<>"#@]+$/iu.test(text) || !URL.canParse(text)) return false;
  const { hostname, username, hash } = new URL(text);
  return hostname !== "" && username === "" && hash === "";
}
