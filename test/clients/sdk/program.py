"""Does the four operations with the packed library, behind a relay that loses every other answer."""

import json
import os

import grpc
from postern import Postern, reason_of, violations_of
from postern.v1 import account_pb2, application_pb2, session_pb2, user_grant_pb2, user_pb2

address = os.environ["POSTERN_ADDRESS"]
user_id = os.environ["POSTERN_USER_ID"]
project_id = os.environ["POSTERN_PROJECT_ID"]
old_password = os.environ["POSTERN_PASSWORD"]
asked = 0


def token() -> str:
    global asked
    asked += 1
    return os.environ["POSTERN_TOKEN"] + "\n"


def refusal_of(call, request):
    try:
        call(request, timeout=30)
    except grpc.RpcError as error:
        return error


with Postern(address, token, insecure=True) as postern:
    add = user_grant_pb2.AddUserGrantRequest(user_id=user_id, project_id=project_id, role_keys=["viewer"])
    grant = postern.user_grants.AddUserGrant(add, timeout=30)
    again = refusal_of(postern.user_grants.AddUserGrant, add)
    create = application_pb2.CreateOidcApplicationRequest(project_id=project_id, name="From the library")
    application = postern.applications.CreateOidcApplication(create, timeout=30)
    change = user_pb2.ChangePhoneRequest(user_id=user_id, phone="+41446681800", return_code={})
    phone = postern.users.ChangePhone(change, timeout=30)
    wrong = refusal_of(postern.users.ChangePhone, user_pb2.ChangePhoneRequest(user_id=user_id, phone="12"))

with Postern(address, insecure=True) as stranger:
    sign_in = session_pb2.CreateSessionRequest(login_name=os.environ["POSTERN_LOGIN_NAME"], password=old_password)
    session = stranger.sessions.CreateSession(sign_in, timeout=30)

with Postern(address, lambda: session.token, insecure=True) as own:
    replace = account_pb2.ChangePasswordRequest(old_password=old_password, new_password="Green-Teapot-77")
    changed = own.accounts.ChangePassword(replace, timeout=30)

print(
    json.dumps(
        {
            "grant": grant.user_grant_id != "",
            "again": reason_of(again),
            "application": application.client_id != "",
            "code": len(phone.verification_code),
            "wrong": [one.field for one in violations_of(wrong)],
            "changed": changed.details.sequence > 1,
            "asked": asked,
        }
    )
)
