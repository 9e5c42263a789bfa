#!/bin/sh
# Generates TypeScript of the contract in proto.
set -eu
echo '{"type": "module"}' > package.json
# region README
npm install @bufbuild/buf@1 @bufbuild/protoc-gen-es@2 @bufbuild/protobuf@2 @connectrpc/connect@2 @connectrpc/connect-node@2
npx buf generate proto --template '{"version": "v2", "plugins": [
  {"local": "protoc-gen-es", "out": "gen", "opt": ["target=js+dts", "import_extension=js"]}]}'
# endregion
node --input-type=module --eval '
  import { UserGrantService } from "./gen/postern/v1/user_grant_pb.js";
  console.log(UserGrantService.typeName);'
