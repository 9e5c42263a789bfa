/** The provider did not accept a message. The error text is our own, because the provider's response may repeat the code. */
export class NotTaken extends Error {
  /** Whether retrying would fail too. */
  readonly permanent: boolean;
  /** The delay that the provider asks for before the next attempt. */
  readonly retrySeconds: number;

  constructor(why: string, { permanent = false, retrySeconds = 0 } = {}) {
    super(why);
    this.name = "NotTaken";
    this.permanent = permanent;
    this.retrySeconds = retrySeconds;
  }
}
