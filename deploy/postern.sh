#!/bin/sh
# The program of the image: `docker run IMAGE doctor`, `docker run IMAGE postern doctor`, `docker exec NODE postern doctor`.
[ "${1-}" != postern ] || shift
exec sh /app/bin/postern "$@"
