"""A web server that signs in with Authlib and Flask."""

import json
import os
import secrets

from authlib.integrations.flask_client import OAuth
from authlib.integrations.requests_client import AssertionSession, OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from flask import Flask, session, url_for
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

app = Flask(__name__)
app.secret_key = secrets.token_bytes(32)
oauth = OAuth(app)
# What proves the application: a secret, a key, or nothing.
proof = os.environ["CLIENT_SECRET"] or None
if os.environ["PRIVATE_KEY"]:
    proof = RSAKey.import_key(json.loads(os.environ["PRIVATE_KEY"]))
postern = oauth.register(
    "postern",
    client_id=os.environ["CLIENT_ID"],
    client_secret=proof,
    client_auth_methods=[PrivateKeyJWT(os.environ["ISSUER"] + "/oauth/token")],
    server_metadata_url=os.environ["ISSUER"] + "/.well-known/openid-configuration",
    client_kwargs={
        "scope": "openid profile email roles offline_access",
        "code_challenge_method": "S256",
        "token_endpoint_auth_method": os.environ["AUTH_METHOD"],
    },
)
# Of the one user, whose cookie would be too small for them.
tokens = {}


@app.get("/login")
def login():
    return postern.authorize_redirect(url_for("callback", _external=True))


@app.get("/callback")
def callback():
    # Checks the state, and verifies the ID token with its nonce.
    token = postern.authorize_access_token()
    session["user"] = token["userinfo"]["sub"]
    tokens[session["user"]] = token
    return {"claims": token["userinfo"], "userinfo": postern.userinfo(token=token)}


@app.get("/refresh")
def refresh():
    old = tokens[session["user"]]
    url = postern.load_server_metadata()["token_endpoint"]
    with postern._get_oauth_client() as client:
        token = dict(client.refresh_token(url, refresh_token=old["refresh_token"]))
    if token["access_token"] == old["access_token"] or token["refresh_token"] == old["refresh_token"]:
        raise ValueError("the tokens are the old ones")
    tokens[session["user"]] = token
    return {"claims": postern.parse_id_token(token, nonce=None), "userinfo": postern.userinfo(token=token)}


@app.get("/machine")
def machine():
    """The tokens of a machine, by its secret and by its key file."""
    file, scope = json.loads(os.environ["KEY_FILE"]), os.environ["SCOPE"]
    url, key, header = file["tokenEndpoint"], file["privateKey"], {"alg": file["algorithm"], "kid": file["keyId"]}
    by_secret = OAuth2Session(os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"], scope=scope)
    by_key = OAuth2Session(file["clientId"], key, scope=scope, token_endpoint_auth_method="private_key_jwt")
    by_key.register_client_auth_method(PrivateKeyJWT(url, headers=header))
    by_grant = AssertionSession(url, issuer=file["clientId"], subject=file["clientId"], audience=url, scope=scope, header=header, key=key)
    tokens = [session.fetch_token(url, grant_type="client_credentials") for session in (by_secret, by_key)]
    return [token["access_token"] for token in [*tokens, by_grant.refresh_token()]]


if __name__ == "__main__":
    server = make_server("localhost", 0, app)
    print(f"Open http://localhost:{server.server_port}", flush=True)
    server.serve_forever()
