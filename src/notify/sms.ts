/** An SMS to hand over; the id is the same when it is handed over again. */
export type Sms = { readonly id: string; readonly to: string; readonly text: string };

/** Hands an SMS over to whoever delivers it, or throws NotTaken. */
export type Sender = (sms: Sms, signal: AbortSignal) => Promise<void>;

/** Says that an SMS was not taken, in our own words only: what the other side says may repeat the code. */
export class NotTaken extends Error {
  /** Another try would end the same. */
  readonly permanent: boolean;
  /** After how long the other side asks to be tried again. */
  readonly retrySeconds: number;

  constructor(why: string, { permanent = false, retrySeconds = 0 } = {}) {
    super(why);
    this.name = "NotTaken";
    this.permanent = permanent;
    this.retrySeconds = retrySeconds;
  }
}
