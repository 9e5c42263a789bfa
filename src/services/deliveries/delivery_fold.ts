import type { NounFolds } from "../../events/fold.ts";

// An id occurs in one outbox only. The worker counts attempts from zero again.
const again = (table: string, id: string) => `
  update ${table} m set dead = null, due = now(), attempts = 0, failure = null, retries = i.version, retried = i.time
  from $input i where m.${id} = i.stream and m.dead is not null`;

/** Whether a fact gives the workers something to send again. */
export const sendsAgain = ({ type }: { readonly type: string }): boolean => type === "delivery.retried";

/** The fold for sending a delivery again. */
export const deliveryFolds = {
  retried: {
    credentials: [
      again("mail_messages", "mail_id"),
      again("sms_messages", "phone_code_id"),
      again("logout_messages", "message_id"),
    ],
  },
} satisfies NounFolds<"delivery">;
