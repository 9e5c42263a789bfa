#!/bin/sh
# Gives the user the role.
# region README
buf curl --protocol grpc --header "authorization: Bearer $POSTERN_TOKEN" \
  --data '{"userId": "'"$POSTERN_USER_ID"'", "projectId": "'"$POSTERN_PROJECT_ID"'", "roleKeys": ["viewer"]}' \
  "$POSTERN_URL/postern.v1.UserGrantService/AddUserGrant"
# endregion
