"""What a client made with grpcio can count on."""

import os
from contextlib import contextmanager

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status
from postern.v1 import (
    account_pb2,
    account_pb2_grpc,
    application_pb2,
    application_pb2_grpc,
    event_pb2,
    event_pb2_grpc,
    session_pb2,
    session_pb2_grpc,
    user_grant_pb2,
    user_grant_pb2_grpc,
    user_pb2,
    user_pb2_grpc,
)

address = os.environ["POSTERN_ADDRESS"]
token = os.environ["POSTERN_TOKEN"]
user_id = os.environ["POSTERN_USER_ID"]
login_name = os.environ["POSTERN_LOGIN_NAME"]
password = os.environ["POSTERN_PASSWORD"]
project_id = os.environ["POSTERN_PROJECT_ID"]
elsewhere = os.environ["POSTERN_ELSEWHERE_ORGANIZATION_ID"]
elsewhere_owned = os.environ["POSTERN_ELSEWHERE_PROJECT_ID"]

channel = grpc.insecure_channel(address)
accounts = account_pb2_grpc.AccountServiceStub(channel)
sessions = session_pb2_grpc.SessionServiceStub(channel)
users = user_pb2_grpc.UserServiceStub(channel)
applications = application_pb2_grpc.ApplicationServiceStub(channel)
grants = user_grant_pb2_grpc.UserGrantServiceStub(channel)
events = event_pb2_grpc.EventServiceStub(channel)


def test_changes_a_password_and_is_told_of_a_wrong_one():
    old = session_pb2.CreateSessionRequest(login_name=login_name, password=password)
    new = session_pb2.CreateSessionRequest(login_name=login_name, password="Green-Teapot-77")
    caller = by(sessions.CreateSession(old).token)

    change = account_pb2.ChangePasswordRequest(old_password=password, new_password=new.password)
    assert accounts.ChangePassword(change, metadata=caller).details.sequence > 1
    with refused("INVALID_ARGUMENT PASSWORD_MISMATCH oldPassword"):
        accounts.ChangePassword(change, metadata=caller)

    with refused("UNAUTHENTICATED SIGN_IN_FAILED"):
        sessions.CreateSession(old)
    assert sessions.CreateSession(new).token


def test_creates_an_application_and_is_told_of_a_missing_project():
    request = application_pb2.CreateOidcApplicationRequest(
        project_id=project_id, name="Zoë 🦊", app_type=application_pb2.OIDC_APP_TYPE_NATIVE
    )
    created = applications.CreateOidcApplication(request, metadata=by(token))
    assert created.none_compliant and created.compliance_problems
    assert created.client_secret.startswith("cs_")

    which = application_pb2.GetApplicationRequest(project_id=project_id, app_id=created.app_id)
    application = applications.GetApplication(which, metadata=by(token)).application
    assert application.name == "Zoë 🦊"
    assert application.oidc.app_type == application_pb2.OIDC_APP_TYPE_NATIVE
    assert application.client_id == created.client_id

    request.project_id = "none"
    with refused("NOT_FOUND PROJECT_NOT_FOUND project/none"):
        applications.CreateOidcApplication(request, metadata=by(token))


def test_changes_a_phone_and_is_told_of_every_wrong_field():
    request = user_pb2.ChangePhoneRequest(user_id=user_id, phone="+41 44 668 18 00", return_code={})
    changed = users.ChangePhone(request, metadata=by(token))
    assert len(changed.verification_code) == 6

    user = users.GetUser(user_pb2.GetUserRequest(user_id=user_id), metadata=by(token)).user
    assert user.human.phone == "+41446681800"
    assert user.details.sequence == changed.details.sequence

    wrong = user_pb2.ChangePhoneRequest(user_id=user_id, phone="12", return_code={}, send_code={})
    with refused("INVALID_ARGUMENT VALIDATION_FAILED phone sendCode returnCode"):
        users.ChangePhone(wrong, metadata=by(token))


def test_adds_a_grant_and_is_told_of_one_that_is_there():
    assert grant_viewer(user_id, project_id)
    which = user_grant_pb2.ListUserGrantsRequest(user_id=user_id)
    (grant,) = grants.ListUserGrants(which, metadata=by(token)).user_grants
    assert grant.role_keys == ["viewer"]

    assert not grant_viewer(user_id, project_id)
    with refused(f"ALREADY_EXISTS USER_GRANT_EXISTS user_grant/{grant.id}"):
        request = user_grant_pb2.AddUserGrantRequest(user_id=user_id, project_id=project_id)
        grants.AddUserGrant(request, metadata=by(token))


# region README
def grant_viewer(user_id: str, project_id: str) -> bool:
    """Gives the user the role; returns false if the user has it already."""
    request = user_grant_pb2.AddUserGrantRequest(user_id=user_id, project_id=project_id, role_keys=["viewer"])
    with grpc.insecure_channel(address) as channel:
        grants = user_grant_pb2_grpc.UserGrantServiceStub(channel)
        try:
            grants.AddUserGrant(request, timeout=5, metadata=[("authorization", f"Bearer {token}")])
        except grpc.RpcError as error:
            status, info = rpc_status.from_call(error), error_details_pb2.ErrorInfo()
            for detail in status.details if status else []:
                if detail.Unpack(info) and info.reason == "USER_GRANT_EXISTS":
                    return False
            raise
    return True
# endregion


def test_is_asked_for_a_token():
    with refused("UNAUTHENTICATED UNAUTHENTICATED"):
        accounts.GetMe(account_pb2.GetMeRequest())


def test_is_refused_in_its_own_language():
    german = [*by(token), ("accept-language", "de-CH, en;q=0.5")]
    with refused("NOT_FOUND USER_NOT_FOUND user/nobody Der Benutzer nobody existiert nicht."):
        users.GetUser(user_pb2.GetUserRequest(user_id="nobody"), metadata=german)


def test_works_in_the_organization_that_it_names():
    request = application_pb2.CreateOidcApplicationRequest(project_id=elsewhere_owned, name="Elsewhere")
    with refused(f"NOT_FOUND PROJECT_NOT_FOUND project/{elsewhere_owned}"):
        applications.CreateOidcApplication(request, metadata=by(token))
    there = [*by(token), ("x-service-orgid", elsewhere)]
    created = applications.CreateOidcApplication(request, metadata=there)
    assert created.details.resource_owner == elsewhere


def test_repeats_itself_and_gets_the_same_answer():
    once = [*by(token), ("idempotency-key", "repeated")]
    request = application_pb2.CreateOidcApplicationRequest(project_id=project_id, name="Once")
    first = applications.CreateOidcApplication(request, metadata=once)
    assert applications.CreateOidcApplication(request, metadata=once) == first
    assert first.client_secret

    request.name = "Twice"
    with refused("INVALID_ARGUMENT IDEMPOTENCY_KEY_REUSED"):
        applications.CreateOidcApplication(request, metadata=once)


def test_is_told_by_the_server_when_its_time_is_over():
    # For the server only: a timeout is watched by grpcio as well, which gives up first.
    briefly = [*by(token), ("grpc-timeout", "200m")]
    with refused("DEADLINE_EXCEEDED DEADLINE_EXCEEDED"):
        users.CreateAccessToken(user_pb2.CreateAccessTokenRequest(user_id=user_id), metadata=briefly)


def test_sends_compressed_messages():
    uris = [f"https://app.example.com/callback/{n}" for n in range(100)]
    request = application_pb2.CreateOidcApplicationRequest(project_id=project_id, name="Large", redirect_uris=uris)
    created = applications.CreateOidcApplication(request, metadata=by(token), compression=grpc.Compression.Gzip)
    which = application_pb2.GetApplicationRequest(project_id=project_id, app_id=created.app_id)
    answer = applications.GetApplication(which, metadata=by(token), compression=grpc.Compression.Gzip)
    assert answer.application.oidc.redirect_uris == uris


def test_watches_events():
    some = event_pb2.ListEventsRequest(object_id=user_id, page_size=1)
    (past,) = events.ListEvents(some, metadata=by(token)).events
    more = event_pb2.WatchEventsRequest(object_id=user_id, after=past.position)
    stream = events.WatchEvents(more, metadata=by(token))

    change = user_pb2.ChangePhoneRequest(user_id=user_id, phone="+41446681801", return_code={})
    changed = users.ChangePhone(change, metadata=by(token))
    event = next(stream).event
    stream.cancel()
    assert event.type == "user.phone_changed"
    assert event.sequence == changed.details.sequence
    assert event.fact.user.phone_changed.phone == "+41446681801"


def test_asks_for_health():
    request = health_pb2.HealthCheckRequest(service="postern.v1.UserService")
    answer = health_pb2_grpc.HealthStub(channel).Check(request)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_finds_services_by_reflection():
    assert "postern.v1.UserGrantService" in ProtoReflectionDescriptorDatabase(channel).get_services()


def by(token: str) -> list[tuple[str, str]]:
    """The metadata of a caller."""
    return [("authorization", f"Bearer {token}")]


@contextmanager
def refused(said: str):
    """Holds when the call in it is refused in these words: its code, and what its details tell."""
    with pytest.raises(grpc.RpcError) as raised:
        yield
    assert words_of(raised.value) == said


def words_of(error: grpc.RpcError) -> str:
    words = [error.code().name]
    status = rpc_status.from_call(error)
    for detail in status.details if status else []:
        match unpacked(detail):
            case error_details_pb2.ErrorInfo(reason=reason):
                words.append(reason)
            case error_details_pb2.ResourceInfo(resource_type=kind, resource_name=name):
                words.append(f"{kind}/{name}")
            case error_details_pb2.LocalizedMessage(message=message):
                words.append(message)
            case error_details_pb2.BadRequest(field_violations=violations):
                words += [violation.field for violation in violations]
    return " ".join(words)


def unpacked(detail):
    name = detail.TypeName().rpartition(".")[2]
    message = getattr(error_details_pb2, name)()
    detail.Unpack(message)
    return message
