/** The question, which is part of the address, so that an answer can be shown to somebody else. */
export type Question = {
  readonly kind: string;
  readonly user: string;
  readonly project: string;
  readonly app: string;
  readonly role: string;
  readonly scopes: string;
};
