// Package openapi holds what a Go client made of the OpenAPI document can count on.
package openapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"postern.test/openapi/postern"
)

var (
	token     = os.Getenv("POSTERN_TOKEN")
	userID    = os.Getenv("POSTERN_USER_ID")
	projectID = os.Getenv("POSTERN_PROJECT_ID")
)

var api = client()

func client() *postern.APIClient {
	configuration := postern.NewConfiguration()
	configuration.Servers = postern.ServerConfigurations{{URL: os.Getenv("POSTERN_URL")}}
	return postern.NewAPIClient(configuration)
}

func as(t *testing.T, token string) context.Context {
	return context.WithValue(t.Context(), postern.ContextAccessToken, token)
}

func TestChangesAPasswordAndIsToldOfAWrongOne(t *testing.T) {
	old := postern.CreateSessionRequest{LoginName: os.Getenv("POSTERN_LOGIN_NAME"), Password: os.Getenv("POSTERN_PASSWORD")}
	session := must(api.SessionServiceAPI.SessionServiceCreateSession(t.Context()).CreateSessionRequest(old).Execute())(t)
	ctx := as(t, session.Token)

	change := postern.ChangePasswordRequest{OldPassword: old.Password, NewPassword: "Green-Teapot-77"}
	changed := must(api.AccountServiceAPI.AccountServiceChangePassword(ctx).ChangePasswordRequest(change).Execute())(t)
	equal(t, "sequence", changed.Details.Sequence > "1", true)

	_, _, err := api.AccountServiceAPI.AccountServiceChangePassword(ctx).ChangePasswordRequest(change).Execute()
	equal(t, "refusal", refusal(err), "400 PASSWORD_MISMATCH oldPassword")
}

func TestCreatesAnApplicationAndIsToldOfAMissingProject(t *testing.T) {
	body := postern.NewCreateOidcApplicationBody("Zoë 🦊")
	body.RedirectUris = []string{"https://app.example/callback"}
	body.SetAppType(postern.OIDC_APP_TYPE_NATIVE)
	create := api.ApplicationServiceAPI.ApplicationServiceCreateOidcApplication
	created := must(create(as(t, token), projectID).CreateOidcApplicationBody(*body).Execute())(t)
	equal(t, "compliance", created.NoneCompliant && len(created.ComplianceProblems) > 0, true)
	equal(t, "secret", strings.HasPrefix(created.GetClientSecret(), "cs_"), true)

	name := "Renamed"
	update := postern.OidcApplicationUpdate{Name: &name}
	change := api.ApplicationServiceAPI.ApplicationServiceUpdateOidcApplication(as(t, token), projectID, created.AppId)
	must(change.OidcApplicationUpdate(update).Execute())(t)

	read := api.ApplicationServiceAPI.ApplicationServiceGetApplication(as(t, token), projectID, created.AppId)
	application := must(read.Execute())(t).Application
	equal(t, "name", application.Name, name)
	equal(t, "redirect URIs", strings.Join(application.Oidc.RedirectUris, " "), "https://app.example/callback")

	_, _, err := create(as(t, token), "none").CreateOidcApplicationBody(*body).Execute()
	equal(t, "refusal", refusal(err), "404 PROJECT_NOT_FOUND project/none")
}

func TestChangesAPhoneAndIsToldOfEveryWrongField(t *testing.T) {
	body := postern.NewChangePhoneBody("+41 44 668 18 00")
	body.ReturnCode = map[string]any{}
	change := api.UserServiceAPI.UserServiceChangePhone(as(t, token), userID)
	changed := must(change.ChangePhoneBody(*body).Execute())(t)
	equal(t, "code", len(changed.GetVerificationCode()), 6)

	user := must(api.UserServiceAPI.UserServiceGetUser(as(t, token), userID).Execute())(t).User
	equal(t, "phone", user.Human.GetPhone(), "+41446681800")

	body.Phone = "12"
	body.SendCode = map[string]any{}
	_, _, err := change.ChangePhoneBody(*body).Execute()
	equal(t, "refusal", refusal(err), "400 VALIDATION_FAILED phone sendCode returnCode")
}

func TestAddsAGrantAndIsToldOfOneThatIsThere(t *testing.T) {
	body := postern.NewAddUserGrantBody(projectID)
	body.RoleKeys = []string{"viewer"}
	add := api.UserGrantServiceAPI.UserGrantServiceAddUserGrant(as(t, token), userID).AddUserGrantBody(*body)
	added := must(add.Execute())(t)

	listed := must(api.UserGrantServiceAPI.UserGrantServiceListUserGrants2(as(t, token), userID).Execute())(t)
	equal(t, "grants", fmt.Sprint(len(listed.UserGrants), listed.UserGrants[0].RoleKeys), "1 [viewer]")

	_, _, err := add.Execute()
	equal(t, "refusal", refusal(err), "409 USER_GRANT_EXISTS user_grant/"+added.UserGrantId)
}

func TestIsAskedForAToken(t *testing.T) {
	_, _, err := api.AccountServiceAPI.AccountServiceGetMe(t.Context()).Execute()
	equal(t, "refusal", refusal(err), "401 UNAUTHENTICATED")
}

// refusal joins the status, the reason, the object and the wrong fields of an error.
func refusal(err error) string {
	var failed *postern.GenericOpenAPIError
	if !errors.As(err, &failed) {
		return fmt.Sprint(err)
	}
	body, _ := failed.Model().(postern.Error)
	words := strings.Fields(failed.Error())[:1]
	for _, detail := range body.Details {
		if detail.HasReason() {
			words = append(words, detail.GetReason())
		}
		if detail.HasResourceName() {
			words = append(words, detail.GetResourceType()+"/"+detail.GetResourceName())
		}
		for _, violation := range detail.FieldViolations {
			words = append(words, violation.Field)
		}
	}
	return strings.Join(words, " ")
}

func must[T any](answer *T, _ *http.Response, err error) func(*testing.T) *T {
	return func(t *testing.T) *T {
		t.Helper()
		if err != nil {
			t.Fatal(refusal(err), err)
		}
		return answer
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, not %v", what, got, want)
	}
}
