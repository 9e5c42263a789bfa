import type { NounFolds } from "../../events/fold.ts";

// Ids are those of one outbox. The worker starts anew with its attempts.
const again = (table: string, id: string) => `
  update ${table} m set dead = null, due = now(), attempts = 0, failure = null, retries = i.version, retried = i.time
  from $input i where m.${id} = i.stream and m.dead is not null`;

/** Whether the workers have something to send again. */
export const sendsAgain = ({ type }: { readonly type: string }): boolean => type === "delivery.retried";

/** The fold of the fact that a delivery is sent again. */
export const deliveryFolds = {
  retried: {
    credentials: [
      again("mail_messages", "mail_id"),
      again("sms_messages", "phone_code_id"),
      again("logout_messages", "message_id"),
    ],
  },
} satisfies NounFolds<"delivery">;
