// Package connect holds what a client made with connect-go can count on, in each of its protocols.
package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	postern "postern.test/clients/gen/postern/v1"
	"postern.test/clients/gen/postern/v1/posternv1connect"
)

var (
	url            = os.Getenv("POSTERN_URL")
	token          = os.Getenv("POSTERN_TOKEN")
	userID         = os.Getenv("POSTERN_USER_ID")
	loginName      = os.Getenv("POSTERN_LOGIN_NAME")
	password       = os.Getenv("POSTERN_PASSWORD")
	projectID      = os.Getenv("POSTERN_PROJECT_ID")
	elsewhere      = os.Getenv("POSTERN_ELSEWHERE_ORGANIZATION_ID")
	elsewhereOwned = os.Getenv("POSTERN_ELSEWHERE_PROJECT_ID")
)

// protocols are how each is asked for, and the header that tells the server in its unit to take no longer than 200 ms.
var protocols = map[string]struct {
	client  *http.Client
	option  connect.ClientOption
	timeout []string
}{
	"Connect":  {http.DefaultClient, connect.WithProtoJSON(), []string{"connect-timeout-ms", "200"}},
	"gRPC":     {http2, connect.WithGRPC(), []string{"grpc-timeout", "200m"}},
	"gRPC-Web": {http.DefaultClient, connect.WithGRPCWeb(), []string{"grpc-timeout", "200m"}},
}

var (
	spoken       = protocols[os.Getenv("POSTERN_PROTOCOL")]
	accounts     = posternv1connect.NewAccountServiceClient(spoken.client, url, spoken.option)
	sessions     = posternv1connect.NewSessionServiceClient(spoken.client, url, spoken.option)
	users        = posternv1connect.NewUserServiceClient(spoken.client, url, spoken.option)
	applications = posternv1connect.NewApplicationServiceClient(spoken.client, url, spoken.option)
	grants       = posternv1connect.NewUserGrantServiceClient(spoken.client, url, spoken.option)
	events       = posternv1connect.NewEventServiceClient(spoken.client, url, spoken.option)
)

// http2 speaks it in clear text: gRPC needs it.
var http2 = func() *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: transport}
}()

func TestChangesAPasswordAndIsToldOfAWrongOne(t *testing.T) {
	signIn := &postern.CreateSessionRequest{LoginName: loginName, Password: password}
	ctx := as(t, must(sessions.CreateSession(t.Context(), signIn))(t).Token)

	change := &postern.ChangePasswordRequest{OldPassword: password, NewPassword: "Green-Teapot-77"}
	changed := must(accounts.ChangePassword(ctx, change))(t)
	equal(t, "sequence", changed.Details.Sequence > 1, true)
	_, err := accounts.ChangePassword(ctx, change)
	equal(t, "refusal", said(err), "invalid_argument PASSWORD_MISMATCH oldPassword")

	_, err = sessions.CreateSession(t.Context(), signIn)
	equal(t, "refusal", said(err), "unauthenticated SIGN_IN_FAILED")
	signIn.Password = change.NewPassword
	must(sessions.CreateSession(t.Context(), signIn))(t)
}

func TestCreatesAnApplicationAndIsToldOfAMissingProject(t *testing.T) {
	ctx := as(t, token)
	request := &postern.CreateOidcApplicationRequest{
		ProjectId: projectID,
		Name:      "Zoë 🦊",
		AppType:   postern.OidcAppType_OIDC_APP_TYPE_NATIVE,
	}
	created := must(applications.CreateOidcApplication(ctx, request))(t)
	equal(t, "there are problems", len(created.ComplianceProblems) > 0, created.NoneCompliant)
	equal(t, "secret", strings.HasPrefix(created.GetClientSecret(), "cs_"), true)

	which := &postern.GetApplicationRequest{ProjectId: projectID, AppId: created.AppId}
	application := must(applications.GetApplication(ctx, which))(t).Application
	equal(t, "name", application.Name, "Zoë 🦊")
	equal(t, "type", application.Oidc.AppType, postern.OidcAppType_OIDC_APP_TYPE_NATIVE)
	equal(t, "client", application.ClientId, created.ClientId)

	request.ProjectId = "none"
	_, err := applications.CreateOidcApplication(ctx, request)
	equal(t, "refusal", said(err), "not_found PROJECT_NOT_FOUND project/none")
}

func TestChangesAPhoneAndIsToldOfEveryWrongField(t *testing.T) {
	ctx := as(t, token)
	request := &postern.ChangePhoneRequest{
		UserId:     userID,
		Phone:      "+41 44 668 18 00",
		ReturnCode: &postern.ReturnPhoneCode{},
	}
	changed := must(users.ChangePhone(ctx, request))(t)
	equal(t, "length of the code", len(changed.GetVerificationCode()), 6)

	user := must(users.GetUser(ctx, &postern.GetUserRequest{UserId: userID}))(t).User
	equal(t, "phone", user.GetHuman().GetPhone(), "+41446681800")
	equal(t, "sequence", user.Details.Sequence, changed.Details.Sequence)

	request.Phone, request.SendCode = "12", &postern.SendPhoneCode{}
	_, err := users.ChangePhone(ctx, request)
	equal(t, "refusal", said(err), "invalid_argument VALIDATION_FAILED phone sendCode returnCode")
}

func TestAddsAGrantAndIsToldOfOneThatIsThere(t *testing.T) {
	equal(t, "news", must(grantViewer(t.Context(), spoken.client, spoken.option))(t), true)
	ctx := as(t, token)
	list := must(grants.ListUserGrants(ctx, &postern.ListUserGrantsRequest{UserId: userID}))(t)
	equal(t, "roles", fmt.Sprint(list.UserGrants[0].RoleKeys), "[viewer]")

	equal(t, "news", must(grantViewer(t.Context(), spoken.client, spoken.option))(t), false)
	_, err := grants.AddUserGrant(ctx, &postern.AddUserGrantRequest{UserId: userID, ProjectId: projectID})
	equal(t, "refusal", said(err), "already_exists USER_GRANT_EXISTS user_grant/"+list.UserGrants[0].Id)
}

// region README

// grantViewer gives the user the role; it returns false if the user has it already.
func grantViewer(ctx context.Context, client *http.Client, option connect.ClientOption) (bool, error) {
	grants := posternv1connect.NewUserGrantServiceClient(client, url, option)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ctx, call := connect.NewClientContext(ctx)
	call.RequestHeader().Set("authorization", "Bearer "+token)

	request := &postern.AddUserGrantRequest{UserId: userID, ProjectId: projectID, RoleKeys: []string{"viewer"}}
	_, err := grants.AddUserGrant(ctx, request)
	if refusal := new(connect.Error); errors.As(err, &refusal) {
		for _, detail := range refusal.Details() {
			value, _ := detail.Value()
			if info, ok := value.(*errdetails.ErrorInfo); ok && info.Reason == "USER_GRANT_EXISTS" {
				return false, nil
			}
		}
	}
	return err == nil, err
}

// endregion

func TestIsAskedForAToken(t *testing.T) {
	_, err := accounts.GetMe(t.Context(), &postern.GetMeRequest{})
	equal(t, "refusal", said(err), "unauthenticated UNAUTHENTICATED")
}

func TestIsRefusedInItsOwnLanguage(t *testing.T) {
	ctx := as(t, token, "accept-language", "de-CH, en;q=0.5")
	_, err := users.GetUser(ctx, &postern.GetUserRequest{UserId: "nobody"})
	equal(t, "refusal", said(err), "not_found USER_NOT_FOUND user/nobody Der Benutzer nobody existiert nicht.")
}

func TestWorksInTheOrganizationThatItNames(t *testing.T) {
	request := &postern.CreateOidcApplicationRequest{ProjectId: elsewhereOwned, Name: "Elsewhere"}
	_, err := applications.CreateOidcApplication(as(t, token), request)
	equal(t, "refusal", said(err), "not_found PROJECT_NOT_FOUND project/"+elsewhereOwned)

	created := must(applications.CreateOidcApplication(as(t, token, "x-service-orgid", elsewhere), request))(t)
	equal(t, "owner", created.Details.ResourceOwner, elsewhere)
}

func TestRepeatsItselfAndGetsTheSameAnswer(t *testing.T) {
	ctx := as(t, token, "idempotency-key", "repeated")
	request := &postern.CreateOidcApplicationRequest{ProjectId: projectID, Name: "Once"}
	first := must(applications.CreateOidcApplication(ctx, request))(t)
	second := must(applications.CreateOidcApplication(ctx, request))(t)
	equal(t, "application", second.AppId, first.AppId)
	equal(t, "secret", second.GetClientSecret(), first.GetClientSecret())

	request.Name = "Twice"
	_, err := applications.CreateOidcApplication(ctx, request)
	equal(t, "refusal", said(err), "invalid_argument IDEMPOTENCY_KEY_REUSED")
}

func TestIsToldByTheServerWhenItsTimeIsOver(t *testing.T) {
	// For the server only: the deadline of a context is watched by connect-go as well, which gives up first.
	ctx := as(t, token, spoken.timeout...)
	_, err := users.CreateAccessToken(ctx, &postern.CreateAccessTokenRequest{UserId: userID})
	equal(t, "refusal", said(err), "deadline_exceeded DEADLINE_EXCEEDED")
}

func TestSendsCompressedMessages(t *testing.T) {
	applications := posternv1connect.NewApplicationServiceClient(spoken.client, url, spoken.option, connect.WithSendGzip())
	ctx := as(t, token)
	request := &postern.CreateOidcApplicationRequest{ProjectId: projectID, Name: "Large"}
	for n := range 100 {
		request.RedirectUris = append(request.RedirectUris, fmt.Sprintf("https://app.example.com/callback/%d", n))
	}
	created := must(applications.CreateOidcApplication(ctx, request))(t)
	which := &postern.GetApplicationRequest{ProjectId: projectID, AppId: created.AppId}
	application := must(applications.GetApplication(ctx, which))(t).Application
	equal(t, "redirect URIs", fmt.Sprint(application.Oidc.RedirectUris), fmt.Sprint(request.RedirectUris))
}

func TestWatchesEvents(t *testing.T) {
	ctx := as(t, token)
	past := must(events.ListEvents(ctx, &postern.ListEventsRequest{ObjectId: userID, PageSize: 1}))(t).Events[0]
	stream := must(events.WatchEvents(ctx, &postern.WatchEventsRequest{ObjectId: userID, After: past.Position}))(t)

	change := &postern.ChangePhoneRequest{UserId: userID, Phone: "+41446681801", ReturnCode: &postern.ReturnPhoneCode{}}
	changed := must(users.ChangePhone(ctx, change))(t)
	equal(t, "comes", stream.Receive(), true)
	event := stream.Msg().Event
	equal(t, "type", event.Type, "user.phone_changed")
	equal(t, "sequence", event.Sequence, changed.Details.Sequence)
	equal(t, "phone", event.Fact.GetUser().GetPhoneChanged().GetPhone(), "+41446681801")
}

// as is the context of a caller, with more headers.
func as(t *testing.T, token string, more ...string) context.Context {
	ctx, call := connect.NewClientContext(t.Context())
	call.RequestHeader().Set("authorization", "Bearer "+token)
	for header := range slices.Chunk(more, 2) {
		call.RequestHeader().Set(header[0], header[1])
	}
	return ctx
}

// said is a refusal in one line: its code, and what its details tell.
func said(err error) string {
	refusal := new(connect.Error)
	if !errors.As(err, &refusal) {
		return fmt.Sprint(err)
	}
	words := []string{refusal.Code().String()}
	for _, detail := range refusal.Details() {
		value, _ := detail.Value()
		switch detail := value.(type) {
		case *errdetails.ErrorInfo:
			words = append(words, detail.Reason)
		case *errdetails.ResourceInfo:
			words = append(words, detail.ResourceType+"/"+detail.ResourceName)
		case *errdetails.LocalizedMessage:
			words = append(words, detail.Message)
		case *errdetails.BadRequest:
			for _, violation := range detail.FieldViolations {
				words = append(words, violation.Field)
			}
		}
	}
	return strings.Join(words, " ")
}

func must[T any](answer T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(said(err), err)
		}
		return answer
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
