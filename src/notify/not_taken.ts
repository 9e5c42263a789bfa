/** The provider did not take a message. The message is in our words only: the provider's answer may repeat the code. */
export class NotTaken extends Error {
  /** Whether another try would fail too. */
  readonly permanent: boolean;
  /** The time after which the provider asks for another try. */
  readonly retrySeconds: number;

  constructor(why: string, { permanent = false, retrySeconds = 0 } = {}) {
    super(why);
    this.name = "NotTaken";
    this.permanent = permanent;
    this.retrySeconds = retrySeconds;
  }
}
