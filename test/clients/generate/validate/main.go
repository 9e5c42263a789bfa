// Checks a request by the rules of the contract, as the server does.
package main

import (
	"fmt"
	"os"

	"buf.build/go/protovalidate"

	postern "example.com/app/postern/v1"
)

func main() {
	if err := protovalidate.Validate(&postern.AddUserGrantRequest{UserId: "u", ProjectId: "p", RoleKeys: []string{"viewer"}}); err != nil {
		fmt.Fprintln(os.Stderr, "a right request:", err)
		os.Exit(1)
	}
	if err := protovalidate.Validate(&postern.AddUserGrantRequest{UserId: "u"}); err == nil {
		fmt.Fprintln(os.Stderr, "a request without a project is not found wrong")
		os.Exit(1)
	}
	fmt.Println(postern.UserGrantService_ServiceDesc.ServiceName)
}
