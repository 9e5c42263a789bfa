// Does the four operations with the packed library, behind a relay that loses every other answer.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"google.golang.org/grpc/credentials/insecure"

	postern "github.com/postern/postern-go"
	posternv1 "github.com/postern/postern-go/postern/v1"
)

var asked int

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	userID, projectID, password := os.Getenv("POSTERN_USER_ID"), os.Getenv("POSTERN_PROJECT_ID"), os.Getenv("POSTERN_PASSWORD")
	client := dial(func(context.Context) (string, error) {
		asked++
		return os.Getenv("POSTERN_TOKEN") + "\n", nil
	})
	defer client.Close()

	add := &posternv1.AddUserGrantRequest{UserId: userID, ProjectId: projectID, RoleKeys: []string{"viewer"}}
	grant := must(client.UserGrants.AddUserGrant(ctx, add))
	_, again := client.UserGrants.AddUserGrant(ctx, add)
	create := &posternv1.CreateOidcApplicationRequest{ProjectId: projectID, Name: "From the library"}
	application := must(client.Applications.CreateOidcApplication(ctx, create))
	change := &posternv1.ChangePhoneRequest{UserId: userID, Phone: "+41446681800", ReturnCode: &posternv1.ReturnPhoneCode{}}
	phone := must(client.Users.ChangePhone(ctx, change))
	_, wrong := client.Users.ChangePhone(ctx, &posternv1.ChangePhoneRequest{UserId: userID, Phone: "12"})

	signIn := &posternv1.CreateSessionRequest{LoginName: os.Getenv("POSTERN_LOGIN_NAME"), Password: password}
	session := must(dial(nil).Sessions.CreateSession(ctx, signIn))
	own := dial(func(context.Context) (string, error) { return session.Token, nil })
	replace := &posternv1.ChangePasswordRequest{OldPassword: password, NewPassword: "Green-Teapot-77"}
	changed := must(own.Accounts.ChangePassword(ctx, replace))

	fields := []string{}
	for _, violation := range postern.Violations(wrong) {
		fields = append(fields, violation.Field)
	}
	outcome := map[string]any{
		"grant":       grant.UserGrantId != "",
		"again":       postern.Reason(again),
		"application": application.ClientId != "",
		"code":        len(phone.GetVerificationCode()),
		"wrong":       fields,
		"changed":     changed.Details.Sequence > 1,
		"asked":       asked,
	}
	if err := json.NewEncoder(os.Stdout).Encode(outcome); err != nil {
		log.Fatal(err)
	}
}

func dial(token postern.TokenProvider) *postern.Client {
	return must(postern.Dial(os.Getenv("POSTERN_ADDRESS"), insecure.NewCredentials(), token))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
