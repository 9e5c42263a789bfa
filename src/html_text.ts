/** The gateway's escaper, for mails, whose text does not depend on how calls arrive. */
export { escapeHtml } from "@postern/gateway";
