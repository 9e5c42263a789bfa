// Package grpc holds what a client made with grpc-go can count on.
package grpc

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	postern "postern.test/clients/gen/postern/v1"
)

var (
	address        = os.Getenv("POSTERN_ADDRESS")
	token          = os.Getenv("POSTERN_TOKEN")
	userID         = os.Getenv("POSTERN_USER_ID")
	loginName      = os.Getenv("POSTERN_LOGIN_NAME")
	password       = os.Getenv("POSTERN_PASSWORD")
	projectID      = os.Getenv("POSTERN_PROJECT_ID")
	elsewhere      = os.Getenv("POSTERN_ELSEWHERE_ORGANIZATION_ID")
	elsewhereOwned = os.Getenv("POSTERN_ELSEWHERE_PROJECT_ID")
)

var (
	conn         = dial()
	accounts     = postern.NewAccountServiceClient(conn)
	sessions     = postern.NewSessionServiceClient(conn)
	users        = postern.NewUserServiceClient(conn)
	applications = postern.NewApplicationServiceClient(conn)
	grants       = postern.NewUserGrantServiceClient(conn)
	events       = postern.NewEventServiceClient(conn)
)

func dial() *grpc.ClientConn {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	return conn
}

func TestChangesAPasswordAndIsToldOfAWrongOne(t *testing.T) {
	signIn := &postern.CreateSessionRequest{LoginName: loginName, Password: password}
	ctx := as(t, must(sessions.CreateSession(t.Context(), signIn))(t).Token)

	change := &postern.ChangePasswordRequest{OldPassword: password, NewPassword: "Green-Teapot-77"}
	changed := must(accounts.ChangePassword(ctx, change))(t)
	equal(t, "sequence", changed.Details.Sequence > 1, true)
	_, err := accounts.ChangePassword(ctx, change)
	equal(t, "refusal", said(err), "InvalidArgument PASSWORD_MISMATCH oldPassword")

	_, err = sessions.CreateSession(t.Context(), signIn)
	equal(t, "refusal", said(err), "Unauthenticated SIGN_IN_FAILED")
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
	equal(t, "refusal", said(err), "NotFound PROJECT_NOT_FOUND project/none")
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
	equal(t, "refusal", said(err), "InvalidArgument VALIDATION_FAILED phone sendCode returnCode")
}

func TestAddsAGrantAndIsToldOfOneThatIsThere(t *testing.T) {
	equal(t, "news", must(grantViewer(t.Context(), userID, projectID))(t), true)
	ctx := as(t, token)
	list := must(grants.ListUserGrants(ctx, &postern.ListUserGrantsRequest{UserId: userID}))(t)
	equal(t, "roles", fmt.Sprint(list.UserGrants[0].RoleKeys), "[viewer]")

	equal(t, "news", must(grantViewer(t.Context(), userID, projectID))(t), false)
	_, err := grants.AddUserGrant(ctx, &postern.AddUserGrantRequest{UserId: userID, ProjectId: projectID})
	equal(t, "refusal", said(err), "AlreadyExists USER_GRANT_EXISTS user_grant/"+list.UserGrants[0].Id)
}

// region README

// grantViewer gives the user the role; it returns false if the user has it already.
func grantViewer(ctx context.Context, userID, projectID string) (bool, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return false, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)

	request := &postern.AddUserGrantRequest{UserId: userID, ProjectId: projectID, RoleKeys: []string{"viewer"}}
	_, err = postern.NewUserGrantServiceClient(conn).AddUserGrant(ctx, request)
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.Reason == "USER_GRANT_EXISTS" {
			return false, nil
		}
	}
	return err == nil, err
}

// endregion

func TestIsAskedForAToken(t *testing.T) {
	_, err := accounts.GetMe(t.Context(), &postern.GetMeRequest{})
	equal(t, "refusal", said(err), "Unauthenticated UNAUTHENTICATED")
}

func TestIsRefusedInItsOwnLanguage(t *testing.T) {
	ctx := as(t, token, "accept-language", "de-CH, en;q=0.5")
	_, err := users.GetUser(ctx, &postern.GetUserRequest{UserId: "nobody"})
	equal(t, "refusal", said(err), "NotFound USER_NOT_FOUND user/nobody Der Benutzer nobody existiert nicht.")
}

func TestWorksInTheOrganizationThatItNames(t *testing.T) {
	request := &postern.CreateOidcApplicationRequest{ProjectId: elsewhereOwned, Name: "Elsewhere"}
	_, err := applications.CreateOidcApplication(as(t, token), request)
	equal(t, "refusal", said(err), "NotFound PROJECT_NOT_FOUND project/"+elsewhereOwned)

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
	equal(t, "refusal", said(err), "InvalidArgument IDEMPOTENCY_KEY_REUSED")
}

func TestIsToldByTheServerWhenItsTimeIsOver(t *testing.T) {
	ctx := as(t, token)
	request := &postern.CreateAccessTokenRequest{UserId: userID}
	_, err := users.CreateAccessToken(ctx, request, grpc.PerRPCCredentials(timeout("200m")))
	equal(t, "refusal", said(err), "DeadlineExceeded DEADLINE_EXCEEDED")
}

// timeout is for the server only. The deadline of a context is watched by grpc-go as well, which gives up first.
type timeout string

func (value timeout) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"grpc-timeout": string(value)}, nil
}

func (timeout) RequireTransportSecurity() bool { return false }

func TestSendsCompressedMessages(t *testing.T) {
	ctx := as(t, token)
	request := &postern.CreateOidcApplicationRequest{ProjectId: projectID, Name: "Large"}
	for n := range 100 {
		request.RedirectUris = append(request.RedirectUris, fmt.Sprintf("https://app.example.com/callback/%d", n))
	}
	created := must(applications.CreateOidcApplication(ctx, request, grpc.UseCompressor(gzip.Name)))(t)
	which := &postern.GetApplicationRequest{ProjectId: projectID, AppId: created.AppId}
	application := must(applications.GetApplication(ctx, which, grpc.UseCompressor(gzip.Name)))(t).Application
	equal(t, "redirect URIs", fmt.Sprint(application.Oidc.RedirectUris), fmt.Sprint(request.RedirectUris))
}

func TestWatchesEvents(t *testing.T) {
	ctx := as(t, token)
	past := must(events.ListEvents(ctx, &postern.ListEventsRequest{ObjectId: userID, PageSize: 1}))(t).Events[0]
	stream := must(events.WatchEvents(ctx, &postern.WatchEventsRequest{ObjectId: userID, After: past.Position}))(t)

	change := &postern.ChangePhoneRequest{UserId: userID, Phone: "+41446681801", ReturnCode: &postern.ReturnPhoneCode{}}
	changed := must(users.ChangePhone(ctx, change))(t)
	event := must(stream.Recv())(t).Event
	equal(t, "type", event.Type, "user.phone_changed")
	equal(t, "sequence", event.Sequence, changed.Details.Sequence)
	equal(t, "phone", event.Fact.GetUser().GetPhoneChanged().GetPhone(), "+41446681801")
}

func TestAsksForHealth(t *testing.T) {
	answer := must(health.NewHealthClient(conn).Check(t.Context(), &health.HealthCheckRequest{Service: "postern.v1.UserService"}))(t)
	equal(t, "status", answer.Status, health.HealthCheckResponse_SERVING)
}

func TestFindsServicesByReflection(t *testing.T) {
	stream := must(reflection.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context()))(t)
	question := &reflection.ServerReflectionRequest_ListServices{}
	if err := stream.Send(&reflection.ServerReflectionRequest{MessageRequest: question}); err != nil {
		t.Fatal(err)
	}
	names := fmt.Sprint(must(stream.Recv())(t).GetListServicesResponse().GetService())
	equal(t, "is named", strings.Contains(names, "postern.v1.UserGrantService"), true)
}

// as is the context of a caller, with more metadata.
func as(t *testing.T, token string, more ...string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), append(more, "authorization", "Bearer "+token)...)
}

// said is a refusal in one line: its code, and what its details tell.
func said(err error) string {
	words := []string{status.Code(err).String()}
	for _, detail := range status.Convert(err).Details() {
		switch detail := detail.(type) {
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
