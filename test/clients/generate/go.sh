#!/bin/sh
# Generates Go of the contract in proto, into the module of the program.
set -eu
go mod init example.com/app
# region README
go get -tool google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12 google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
buf generate proto --path proto/postern --template '{"version": "v2",
  "managed": {"enabled": true, "disable": [{"path": "google"}, {"path": "buf"}], "override": [
    {"file_option": "go_package_prefix", "path": "postern", "value": "example.com/app"}]},
  "plugins": [
    {"local": ["go", "tool", "protoc-gen-go"], "out": ".", "opt": "paths=source_relative"},
    {"local": ["go", "tool", "protoc-gen-go-grpc"], "out": ".", "opt": "paths=source_relative"}]}'
go mod tidy
# endregion
go run ./validate
