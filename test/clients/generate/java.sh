#!/bin/sh
# Generates Java of the contract in proto, as pom.xml says, and compiles it.
set -eu
# region README
mvn compile
# endregion
test -f target/classes/com/postern/v1/UserGrantServiceGrpc.class
echo postern.v1.UserGrantService
