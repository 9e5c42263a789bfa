"""A client of each service, with a token for each call, an idempotency key for each write, and calls that found no server repeated."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from postern.v1 import (
    account_pb2_grpc,
    application_pb2_grpc,
    authorization_pb2_grpc,
    consent_pb2_grpc,
    delivery_pb2_grpc,
    domain_pb2_grpc,
    event_pb2_grpc,
    explanation_pb2_grpc,
    factor_pb2_grpc,
    invitation_pb2_grpc,
    job_pb2_grpc,
    machine_credential_pb2_grpc,
    member_pb2_grpc,
    name_pb2_grpc,
    organization_pb2_grpc,
    policy_pb2_grpc,
    project_pb2_grpc,
    registration_pb2_grpc,
    session_pb2_grpc,
    subscription_pb2_grpc,
    user_export_pb2_grpc,
    user_grant_pb2_grpc,
    user_pb2_grpc,
    user_role_pb2_grpc,
)

TokenProvider = Callable[[], "str | None"]
"""Returns the token of the caller; asked before each call, so that it may read a fresh one. Without one the call goes without."""


class Postern:
    """A client of each service, over one channel."""

    def __init__(
        self,
        address: str,
        token: TokenProvider | None = None,
        *,
        credentials: grpc.ChannelCredentials | None = None,
        insecure: bool = False,
    ) -> None:
        """Connects to an address, such as "id.example.com:443", by TLS unless it is to be insecure."""
        options = [("grpc.service_config", files("postern").joinpath("grpc-retry.json").read_text("utf-8"))]
        if insecure:
            self._channel = grpc.insecure_channel(address, options)
        else:
            self._channel = grpc.secure_channel(address, credentials or grpc.ssl_channel_credentials(), options)
        channel = grpc.intercept_channel(self._channel, _Headers(token))
        self.accounts = account_pb2_grpc.AccountServiceStub(channel)
        self.applications = application_pb2_grpc.ApplicationServiceStub(channel)
        self.authorization = authorization_pb2_grpc.AuthorizationServiceStub(channel)
        self.consents = consent_pb2_grpc.ConsentServiceStub(channel)
        self.deliveries = delivery_pb2_grpc.DeliveryServiceStub(channel)
        self.domains = domain_pb2_grpc.DomainServiceStub(channel)
        self.events = event_pb2_grpc.EventServiceStub(channel)
        self.explanations = explanation_pb2_grpc.ExplanationServiceStub(channel)
        self.factors = factor_pb2_grpc.FactorServiceStub(channel)
        self.invitations = invitation_pb2_grpc.InvitationServiceStub(channel)
        self.jobs = job_pb2_grpc.JobServiceStub(channel)
        self.machine_credentials = machine_credential_pb2_grpc.MachineCredentialServiceStub(channel)
        self.members = member_pb2_grpc.MemberServiceStub(channel)
        self.names = name_pb2_grpc.NameServiceStub(channel)
        self.organizations = organization_pb2_grpc.OrganizationServiceStub(channel)
        self.policies = policy_pb2_grpc.PolicyServiceStub(channel)
        self.projects = project_pb2_grpc.ProjectServiceStub(channel)
        self.registrations = registration_pb2_grpc.RegistrationServiceStub(channel)
        self.sessions = session_pb2_grpc.SessionServiceStub(channel)
        self.subscriptions = subscription_pb2_grpc.SubscriptionServiceStub(channel)
        self.user_exports = user_export_pb2_grpc.UserExportServiceStub(channel)
        self.user_grants = user_grant_pb2_grpc.UserGrantServiceStub(channel)
        self.user_roles = user_role_pb2_grpc.UserRoleServiceStub(channel)
        self.users = user_pb2_grpc.UserServiceStub(channel)

    def close(self) -> None:
        """Closes the channel."""
        self._channel.close()

    def __enter__(self) -> Postern:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def reason_of(error: grpc.RpcError) -> str | None:
    """Returns the stable reason of a refusal, such as USER_GRANT_EXISTS; None for any other error."""
    found = _details(error, error_details_pb2.ErrorInfo)
    return found[0].reason if found else None


def violations_of(error: grpc.RpcError) -> list[error_details_pb2.BadRequest.FieldViolation]:
    """Returns the wrong fields of a refused request, each with the rule that it breaks."""
    return [one for bad in _details(error, error_details_pb2.BadRequest) for one in bad.field_violations]


def _details(error, kind):
    status = rpc_status.from_call(error)
    found = []
    for detail in status.details if status else []:
        message = kind()
        if detail.Unpack(message):
            found.append(message)
    return found


class _CallDetails(NamedTuple):
    method: str
    timeout: float | None
    metadata: list[tuple[str, str | bytes]] | None
    credentials: grpc.CallCredentials | None
    wait_for_ready: bool | None
    compression: grpc.Compression | None


class _Details(_CallDetails, grpc.ClientCallDetails):
    """Details of a call with other metadata."""


class _Headers(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Sends what each call carries; all attempts of a call carry the same."""

    def __init__(self, token: TokenProvider | None) -> None:
        self._token = token

    def intercept_unary_unary(self, continuation, client_call_details, request):
        return continuation(self._with_headers(client_call_details, _is_write(client_call_details.method)), request)

    def intercept_unary_stream(self, continuation, client_call_details, request):
        return continuation(self._with_headers(client_call_details, False), request)

    def _with_headers(self, call: grpc.ClientCallDetails, is_write: bool) -> grpc.ClientCallDetails:
        metadata = list(call.metadata or [])
        sent = {name.lower() for name, _ in metadata}
        token = self._token() if self._token and "authorization" not in sent else None
        if token:
            metadata.append(("authorization", f"Bearer {token.strip()}"))
        if is_write and "idempotency-key" not in sent:
            metadata.append(("idempotency-key", str(uuid.uuid4())))
        return _Details(
            call.method, call.timeout, metadata, call.credentials, call.wait_for_ready, call.compression
        )


def _is_write(path: str | bytes) -> bool:
    name = path.decode() if isinstance(path, bytes) else path
    service, method = name.lstrip("/").split("/")
    options = descriptor_pool.Default().FindServiceByName(service).methods_by_name[method].GetOptions()
    return options.idempotency_level != descriptor_pb2.MethodOptions.NO_SIDE_EFFECTS
