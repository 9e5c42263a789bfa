// Package postern is the client library of Postern, an identity management server. It sends a token with each call, an idempotency
// key with each write, and repeats calls that found no server.
package postern

import (
	"context"
	"crypto/rand"
	_ "embed"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	posternv1 "github.com/postern/postern-go/postern/v1"
)

//go:embed grpc-retry.json
var retryPolicy string

// TokenProvider returns the token of the caller. It is asked before each call, so that it may read a fresh one; for an empty one
// the call goes without.
type TokenProvider func(ctx context.Context) (string, error)

// Client has a client of each service, over one connection.
type Client struct {
	Accounts           posternv1.AccountServiceClient
	Applications       posternv1.ApplicationServiceClient
	Authorization      posternv1.AuthorizationServiceClient
	Consents           posternv1.ConsentServiceClient
	Deliveries         posternv1.DeliveryServiceClient
	Domains            posternv1.DomainServiceClient
	Events             posternv1.EventServiceClient
	Explanations       posternv1.ExplanationServiceClient
	Factors            posternv1.FactorServiceClient
	Invitations        posternv1.InvitationServiceClient
	Jobs               posternv1.JobServiceClient
	MachineCredentials posternv1.MachineCredentialServiceClient
	Members            posternv1.MemberServiceClient
	Names              posternv1.NameServiceClient
	Organizations      posternv1.OrganizationServiceClient
	Policies           posternv1.PolicyServiceClient
	Projects           posternv1.ProjectServiceClient
	Registrations      posternv1.RegistrationServiceClient
	Sessions           posternv1.SessionServiceClient
	Subscriptions      posternv1.SubscriptionServiceClient
	UserExports        posternv1.UserExportServiceClient
	UserGrants         posternv1.UserGrantServiceClient
	UserRoles          posternv1.UserRoleServiceClient
	Users              posternv1.UserServiceClient

	conn *grpc.ClientConn
}

// Dial makes a client of the service at an address, such as "id.example.com:443", with transport credentials, such as
// credentials.NewTLS(nil). The token may be nil: then only calls that need none work.
func Dial(address string, transport credentials.TransportCredentials, token TokenProvider, more ...grpc.DialOption) (*Client, error) {
	options := append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(retryPolicy),
		grpc.WithChainUnaryInterceptor(unary(token)),
		grpc.WithChainStreamInterceptor(stream(token)),
	}, more...)
	conn, err := grpc.NewClient(address, options...)
	if err != nil {
		return nil, err
	}
	return &Client{
		Accounts:           posternv1.NewAccountServiceClient(conn),
		Applications:       posternv1.NewApplicationServiceClient(conn),
		Authorization:      posternv1.NewAuthorizationServiceClient(conn),
		Consents:           posternv1.NewConsentServiceClient(conn),
		Deliveries:         posternv1.NewDeliveryServiceClient(conn),
		Domains:            posternv1.NewDomainServiceClient(conn),
		Events:             posternv1.NewEventServiceClient(conn),
		Explanations:       posternv1.NewExplanationServiceClient(conn),
		Factors:            posternv1.NewFactorServiceClient(conn),
		Invitations:        posternv1.NewInvitationServiceClient(conn),
		Jobs:               posternv1.NewJobServiceClient(conn),
		MachineCredentials: posternv1.NewMachineCredentialServiceClient(conn),
		Members:            posternv1.NewMemberServiceClient(conn),
		Names:              posternv1.NewNameServiceClient(conn),
		Organizations:      posternv1.NewOrganizationServiceClient(conn),
		Policies:           posternv1.NewPolicyServiceClient(conn),
		Projects:           posternv1.NewProjectServiceClient(conn),
		Registrations:      posternv1.NewRegistrationServiceClient(conn),
		Sessions:           posternv1.NewSessionServiceClient(conn),
		Subscriptions:      posternv1.NewSubscriptionServiceClient(conn),
		UserExports:        posternv1.NewUserExportServiceClient(conn),
		UserGrants:         posternv1.NewUserGrantServiceClient(conn),
		UserRoles:          posternv1.NewUserRoleServiceClient(conn),
		Users:              posternv1.NewUserServiceClient(conn),
		conn:               conn,
	}, nil
}

// Close closes the connection.
func (client *Client) Close() error {
	return client.conn.Close()
}

// Reason returns the stable reason of a refusal, such as "USER_GRANT_EXISTS"; it is empty for any other error.
func Reason(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return ""
}

// Violations returns the wrong fields of a refused request, each with the rule that it breaks.
func Violations(err error) []*errdetails.BadRequest_FieldViolation {
	var found []*errdetails.BadRequest_FieldViolation
	for _, detail := range status.Convert(err).Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok {
			found = append(found, bad.FieldViolations...)
		}
	}
	return found
}

func unary(token TokenProvider) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
		ctx, err := withToken(ctx, token)
		if err != nil {
			return err
		}
		if isWrite(method) {
			// All attempts of the call carry the same key.
			ctx = withHeader(ctx, "idempotency-key", rand.Text)
		}
		return call(ctx, method, request, reply, conn, options...)
	}
}

func stream(token TokenProvider) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
		ctx, err := withToken(ctx, token)
		if err != nil {
			return nil, err
		}
		return open(ctx, desc, conn, method, options...)
	}
}

func withToken(ctx context.Context, token TokenProvider) (context.Context, error) {
	if token == nil {
		return ctx, nil
	}
	value, err := token(ctx)
	if err != nil || value == "" {
		return ctx, err
	}
	return withHeader(ctx, "authorization", func() string { return "Bearer " + strings.TrimSpace(value) }), nil
}

// A header that the caller set stays.
func withHeader(ctx context.Context, name string, value func() string) context.Context {
	if sent, _ := metadata.FromOutgoingContext(ctx); len(sent.Get(name)) > 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, name, value())
}

func isWrite(path string) bool {
	name := strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", ".")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return false
	}
	options, _ := found.Options().(*descriptorpb.MethodOptions)
	return options.GetIdempotencyLevel() != descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}
