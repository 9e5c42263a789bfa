#!/bin/sh
# Generates Python of the contract in proto.
set -eu
python3 -m venv venv
. venv/bin/activate
# region README
pip install grpcio-tools googleapis-common-protos
python -m grpc_tools.protoc --proto_path=proto --python_out=. --pyi_out=. --grpc_python_out=. \
  proto/postern/v1/*.proto proto/buf/validate/*.proto
# endregion
python -c 'from postern.v1 import user_grant_pb2; print(user_grant_pb2.DESCRIPTOR.services_by_name["UserGrantService"].full_name)'
