#!/bin/sh
# Gives the user the role.
# region README
curl --silent "$POSTERN_URL/v1/users/$POSTERN_USER_ID/grants" --header "authorization: Bearer $POSTERN_TOKEN" \
  --header 'content-type: application/json' --data '{"projectId": "'"$POSTERN_PROJECT_ID"'", "roleKeys": ["viewer"]}'
# endregion
