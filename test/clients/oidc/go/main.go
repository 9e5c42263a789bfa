// A web server that signs in with go-oidc and golang.org/x/oauth2, for one user.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
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
		// Its style of authentication is found out by trying.
		Endpoint: provider.Endpoint(),
		Scopes:   []string{oidc.ScopeOpenID, "profile", "email", "roles", oidc.ScopeOfflineAccess},
	}}
	http.HandleFunc("GET /login", app.login)
	http.HandleFunc("GET /callback", answering(app.callback))
	http.HandleFunc("GET /refresh", answering(app.refresh))
	fmt.Printf("Open %s\n", origin)
	log.Fatal(http.Serve(listener, nil))
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
