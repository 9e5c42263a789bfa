"""What a Python client made of the OpenAPI document can count on."""

import os
from contextlib import contextmanager

import postern
import pytest
from postern import models

user_id = os.environ["POSTERN_USER_ID"]
project_id = os.environ["POSTERN_PROJECT_ID"]


def by(token):
    configuration = postern.Configuration(host=os.environ["POSTERN_URL"], access_token=token)
    return postern.ApiClient(configuration)


admin = by(os.environ["POSTERN_TOKEN"])
users = postern.UserServiceApi(admin)
applications = postern.ApplicationServiceApi(admin)
grants = postern.UserGrantServiceApi(admin)


def test_changes_a_password_and_is_told_of_a_wrong_one():
    password = os.environ["POSTERN_PASSWORD"]
    sign_in = models.CreateSessionRequest(login_name=os.environ["POSTERN_LOGIN_NAME"], password=password)
    session = postern.SessionServiceApi(by(None)).session_service_create_session(sign_in)
    accounts = postern.AccountServiceApi(by(session.token))
    assert accounts.account_service_get_me().user.human.given_name == "Ada"

    change = models.ChangePasswordRequest(old_password=password, new_password="Green-Teapot-77")
    assert int(accounts.account_service_change_password(change).details.sequence) > 1
    with refused("400 PASSWORD_MISMATCH oldPassword"):
        accounts.account_service_change_password(change)


def test_creates_an_application_and_is_told_of_a_missing_project():
    body = models.CreateOidcApplicationBody(
        name="Zoë 🦊",
        redirect_uris=["https://app.example/callback"],
        app_type=models.OidcAppType.OIDC_APP_TYPE_NATIVE,
    )
    created = applications.application_service_create_oidc_application(project_id, body)
    assert created.none_compliant and created.compliance_problems
    assert created.client_secret.startswith("cs_")

    update = models.OidcApplicationUpdate(name="Renamed")
    applications.application_service_update_oidc_application(project_id, created.app_id, update)
    application = applications.application_service_get_application(project_id, created.app_id).application
    assert application.name == "Renamed"
    assert application.oidc.redirect_uris == ["https://app.example/callback"]

    with refused("404 PROJECT_NOT_FOUND project/none"):
        applications.application_service_create_oidc_application("none", body)


def test_changes_a_phone_and_is_told_of_every_wrong_field():
    body = models.ChangePhoneBody(phone="+41 44 668 18 00", return_code={})
    assert len(users.user_service_change_phone(user_id, body).verification_code) == 6
    assert users.user_service_get_user(user_id).user.human.phone == "+41446681800"

    wrong = models.ChangePhoneBody(phone="12", return_code={}, send_code={})
    with refused("400 VALIDATION_FAILED phone sendCode returnCode"):
        users.user_service_change_phone(user_id, wrong)


def test_adds_a_grant_and_is_told_of_one_that_is_there():
    body = models.AddUserGrantBody(project_id=project_id, role_keys=["viewer"])
    added = grants.user_grant_service_add_user_grant(user_id, body)
    (grant,) = grants.user_grant_service_list_user_grants2(user_id).user_grants
    assert grant.role_keys == ["viewer"]

    with refused(f"409 USER_GRANT_EXISTS user_grant/{added.user_grant_id}"):
        grants.user_grant_service_add_user_grant(user_id, body)


def test_is_asked_for_a_token():
    with refused("401 UNAUTHENTICATED"):
        postern.AccountServiceApi(by(None)).account_service_get_me()


@contextmanager
def refused(expected):
    """Expects a refusal by its status, reason, object and wrong fields."""
    with pytest.raises(postern.ApiException) as caught:
        yield
    words = [str(caught.value.status)]
    for detail in caught.value.data.details:
        words += [detail.reason] if detail.reason else []
        words += [f"{detail.resource_type}/{detail.resource_name}"] if detail.resource_name else []
        words += [violation.var_field for violation in detail.field_violations or []]
    assert " ".join(words) == expected
