-- An application with many users is deleted at once, and the consents to it in batches.
alter table consents drop constraint consents_app;
