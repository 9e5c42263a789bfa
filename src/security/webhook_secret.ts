import { randomBytes } from "node:crypto";

const secretBytes = 32;
const prefix = "whsec_";

/** Generates the secret that signs posts to a webhook. */
export const newWebhookSecret = (): Buffer => randomBytes(secretBytes);

/** Writes a secret as https://www.standardwebhooks.com describes. */
export const shownWebhookSecret = (secret: Uint8Array): string => `${prefix}${Buffer.from(secret).toString("base64")}`;

/** The context under which the secret of a subscription is sealed. */
export const subscriptionSecretContext = (subscriptionId: string): string => `subscription secret ${subscriptionId}`;
