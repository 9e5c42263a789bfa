/** An SMS to send; resending it keeps the id. */
export type Sms = { readonly id: string; readonly to: string; readonly text: string };

/** Hands an SMS to the provider, or throws NotTaken. */
export type Sender = (sms: Sms, signal: AbortSignal) => Promise<void>;
