-- The oldest message that waits in an outbox is found for the metrics, however many wait.

-- step: index
create index concurrently if not exists sms_messages_created on sms_messages (created) where dead is null;

-- step: index
create index concurrently if not exists mail_messages_created on mail_messages (created) where dead is null;

-- step: index
create index concurrently if not exists logout_messages_created on logout_messages (created) where dead is null;

-- step: index
create index concurrently if not exists subscription_deliveries_failing on subscription_deliveries (failing_since)
  where dead is null and due < 'infinity';
