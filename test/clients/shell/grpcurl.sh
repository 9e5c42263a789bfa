#!/bin/sh
# Gives the user the role.
# region README
grpcurl -plaintext -H "authorization: Bearer $POSTERN_TOKEN" \
  -d '{"userId": "'"$POSTERN_USER_ID"'", "projectId": "'"$POSTERN_PROJECT_ID"'", "roleKeys": ["viewer"]}' \
  "$POSTERN_ADDRESS" postern.v1.UserGrantService/AddUserGrant
# endregion
