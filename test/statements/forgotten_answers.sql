delete from idempotency where caller = $1 and operation = $2 and key = $3;
