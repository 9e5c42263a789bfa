/**
 * The rooms of `src`, the highest floor first: a room imports only from floors below its own. A folder of provider, of
 * services, of postgres or of notify is a room of its own, and so is a file that stands beside such folders.
 */
export const floors: readonly (readonly string[])[] = [
  ["main"],
  ["program"],
  ["server"],
  ["maintenance"],
  ["runtime"],
  ["provider/module", "provider/provider"],
  ["provider/invitations", "provider/registrations"],
  ["provider/endpoints", "provider/chores", "provider/explanations", "provider/account", "provider/mail_pages"],
  ["provider/pushed_requests"],
  ["provider/device", "provider/logout"],
  ["provider/sign_in"],
  ["provider/parts"],
  ["provider/tokens"],
  ["provider/request"],
  ["provider/pages"],
  ["provider/http"],
  ["services/user_exports"],
  ["services/machine_credentials"],
  ["services/account", "services/applications", "services/invitations", "services/registrations"],
  ["services/users"],
  ["services/access_tokens", "services/domains", "services/sessions", "services/subscriptions"],
  ["services/factors", "services/organizations", "services/passwords", "services/user_grants"],
  [
    "services/consents",
    "services/decisions",
    "services/members",
    "services/metadata",
    "services/names",
    "services/projects",
    "services/verification",
  ],
  [
    "services/audit",
    "services/callers",
    "services/deliveries",
    "services/jobs",
    "services/policies",
    "services/writing",
  ],
  ["guards", "services/module", "services/reading", "transfer"],
  ["notify/logout", "notify/mail", "notify/sms", "notify/subscriptions", "client", "workers"],
  ["deps", "notify/silence", "config"],
  ["notify/deliveries"],
  ["contract", "events", "notify/health", "notify/turns", "postgres/migrate", "postgres/open"],
  ["postgres/migrating", "postgres/pool", "notify/log_sender", "notify/webhook", "rules"],
  ["errors", "notify/post", "postgres/embedded", "postgres/start_error"],
  [
    "html_text",
    "messages",
    "metrics",
    "notify/not_taken",
    "notify/retry_after",
    "postgres/failure",
    "postgres/process_log",
    "reasons",
    "security",
    "tracing",
  ],
];

const divided = ["provider", "services", "postgres", "notify"];

/** The room that a file of `src` is in. */
export function roomOf(path: string): string {
  const [first = "", second = ""] = path
    .replace(/^src\//, "")
    .replace(/\.ts$/, "")
    .split("/");
  return divided.includes(first) ? `${first}/${second}` : first;
}
