// A web server that signs in with go-oidc and golang.org/x/oauth2, for one user.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	grant "golang.org/x/oauth2/jwt"
)

type application struct {
	provider *oidc.Provider
	config   oauth2.Config
	// What the response of a sign-in is checked with.
	state, nonce, verifier string
	token                  *oauth2.Token
}

func main() {
	ctx := context.Background()
	if key := os.Getenv("PRIVATE_KEY"); key != "" {
		http.DefaultClient = &http.Client{Transport: asserting(key)}
	}
	provider, err := oidc.NewProvider(ctx, os.Getenv("ISSUER"))
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	origin := fmt.Sprintf("http://localhost:%d", listener.Addr().(*net.TCPAddr).Port)
	app := &application{provider: provider, config: oauth2.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		RedirectURL:  origin + "/callback",
		Endpoint: endpointOf(provider),
		Scopes:   []string{oidc.ScopeOpenID, "profile", "email", "roles", oidc.ScopeOfflineAccess},
	}}
	http.HandleFunc("GET /login", app.login)
	http.HandleFunc("GET /callback", answering(app.callback))
	http.HandleFunc("GET /refresh", answering(app.refresh))
	http.HandleFunc("GET /machine", answering(machine))
	fmt.Printf("Open %s\n", origin)
	log.Fatal(http.Serve(listener, nil))
}

// endpointOf lets the style of authentication be found out by trying, but for a key.
func endpointOf(provider *oidc.Provider) oauth2.Endpoint {
	endpoint := provider.Endpoint()
	if os.Getenv("PRIVATE_KEY") != "" {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return endpoint
}

// asserting adds an assertion to each request for tokens, which the library has no way to make (RFC 7523, 2.2).
type asserting string

func (key asserting) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, "/oauth/token") {
		return http.DefaultTransport.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	assertion, err := key.sign()
	if err != nil {
		return nil, err
	}
	form := string(body) + "&" + url.Values{
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
		"client_assertion":      {assertion},
	}.Encode()
	signed := request.Clone(request.Context())
	signed.Body, signed.ContentLength = io.NopCloser(strings.NewReader(form)), int64(len(form))
	return http.DefaultTransport.RoundTrip(signed)
}

func (key asserting) sign() (string, error) {
	var jwk jose.JSONWebKey
	if err := json.Unmarshal([]byte(key), &jwk); err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jwk}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer:   os.Getenv("CLIENT_ID"),
		Subject:  os.Getenv("CLIENT_ID"),
		Audience: jwt.Audience{os.Getenv("ISSUER")},
		ID:       oauth2.GenerateVerifier(),
		Expiry:   jwt.NewNumericDate(time.Now().Add(time.Minute)),
	}).Serialize()
}

func (app *application) login(w http.ResponseWriter, r *http.Request) {
	app.state, app.nonce, app.verifier = oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	url := app.config.AuthCodeURL(app.state, oidc.Nonce(app.nonce), oauth2.S256ChallengeOption(app.verifier))
	http.Redirect(w, r, url, http.StatusFound)
}

func (app *application) callback(r *http.Request) (any, error) {
	if r.FormValue("state") != app.state {
		return nil, errors.New("the state is of another sign-in")
	}
	token, err := app.config.Exchange(r.Context(), r.FormValue("code"), oauth2.VerifierOption(app.verifier))
	if err != nil {
		return nil, err
	}
	app.token = token
	return app.user(r.Context(), app.nonce)
}

func (app *application) refresh(r *http.Request) (any, error) {
	old := *app.token
	old.Expiry = time.Unix(1, 0)
	token, err := app.config.TokenSource(r.Context(), &old).Token()
	if err != nil {
		return nil, err
	}
	if token.AccessToken == app.token.AccessToken || token.RefreshToken == app.token.RefreshToken {
		return nil, errors.New("the tokens are the old ones")
	}
	app.token = token
	return app.user(r.Context(), "")
}

// user verifies the ID token and asks userinfo. An ID token of a refresh may have no nonce.
func (app *application) user(ctx context.Context, nonce string) (any, error) {
	raw, _ := app.token.Extra("id_token").(string)
	idToken, err := app.provider.VerifierContext(ctx, &oidc.Config{ClientID: app.config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	if nonce != "" && idToken.Nonce != nonce {
		return nil, errors.New("the nonce is of another sign-in")
	}
	if err := idToken.VerifyAccessToken(app.token.AccessToken); err != nil {
		return nil, err
	}
	info, err := app.provider.UserInfo(ctx, oauth2.StaticTokenSource(app.token))
	if err != nil {
		return nil, err
	}
	var claims, userinfo map[string]any
	return map[string]any{"claims": &claims, "userinfo": &userinfo}, errors.Join(idToken.Claims(&claims), info.Claims(&userinfo))
}

// machine gets the tokens of a machine, by its secret and by its key file.
func machine(r *http.Request) (any, error) {
	var file struct{ ClientID, KeyID, PrivateKey, TokenEndpoint string }
	if err := json.Unmarshal([]byte(os.Getenv("KEY_FILE")), &file); err != nil {
		return nil, err
	}
	scopes := []string{os.Getenv("SCOPE")}
	bySecret := clientcredentials.Config{
		ClientID:     os.Getenv("CLIENT_ID"),
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		TokenURL:     file.TokenEndpoint,
		Scopes:       scopes,
	}
	byKey := grant.Config{
		Email:        file.ClientID,
		Subject:      file.ClientID,
		PrivateKey:   []byte(file.PrivateKey),
		PrivateKeyID: file.KeyID,
		TokenURL:     file.TokenEndpoint,
		Scopes:       scopes,
	}
	secret, err := bySecret.Token(r.Context())
	if err != nil {
		return nil, err
	}
	key, err := byKey.TokenSource(r.Context()).Token()
	if err != nil {
		return nil, err
	}
	return []string{secret.AccessToken, key.AccessToken}, nil
}

func answering(answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := answer(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(body)
	}
}
