-- The log grows by inserts and its rows stay as they are. By default its new rows would be vacuumed once there are a fifth more: at 100
-- million, twenty million rows at a time, which are then read a second time to freeze them. A hundredth at a time, frozen at once, each
-- vacuum reads and writes only the pages that are new, and none is left for a vacuum that prevents a wraparound.

-- step: transaction
alter table events set (
  autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.01,
  autovacuum_freeze_min_age = 0);

-- step: transaction
alter table event_numbers set (
  autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.01,
  autovacuum_freeze_min_age = 0);
