package postern;

import static io.grpc.Metadata.ASCII_STRING_MARSHALLER;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.LocalizedMessage;
import com.google.rpc.ResourceInfo;
import com.postern.v1.AccountServiceGrpc;
import com.postern.v1.AddUserGrantRequest;
import com.postern.v1.ApplicationServiceGrpc;
import com.postern.v1.ChangePasswordRequest;
import com.postern.v1.ChangePhoneRequest;
import com.postern.v1.CreateAccessTokenRequest;
import com.postern.v1.CreateOidcApplicationRequest;
import com.postern.v1.CreateSessionRequest;
import com.postern.v1.EventServiceGrpc;
import com.postern.v1.GetApplicationRequest;
import com.postern.v1.GetMeRequest;
import com.postern.v1.GetUserRequest;
import com.postern.v1.ListEventsRequest;
import com.postern.v1.ListUserGrantsRequest;
import com.postern.v1.OidcAppType;
import com.postern.v1.ReturnPhoneCode;
import com.postern.v1.SendPhoneCode;
import com.postern.v1.SessionServiceGrpc;
import com.postern.v1.UserGrantServiceGrpc;
import com.postern.v1.UserServiceGrpc;
import com.postern.v1.WatchEventsRequest;
import io.grpc.ClientInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.StatusProto;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What a client made with grpc-java can count on. */
class ClientTest {
  static final String address = System.getenv("POSTERN_ADDRESS");
  static final String token = System.getenv("POSTERN_TOKEN");
  static final String userId = System.getenv("POSTERN_USER_ID");
  static final String loginName = System.getenv("POSTERN_LOGIN_NAME");
  static final String password = System.getenv("POSTERN_PASSWORD");
  static final String projectId = System.getenv("POSTERN_PROJECT_ID");
  static final String elsewhere = System.getenv("POSTERN_ELSEWHERE_ORGANIZATION_ID");
  static final String elsewhereOwned = System.getenv("POSTERN_ELSEWHERE_PROJECT_ID");

  static final ManagedChannel channel =
      Grpc.newChannelBuilder(address, InsecureChannelCredentials.create()).build();
  static final ClientInterceptor administrator = with("authorization", "Bearer " + token);

  final SessionServiceGrpc.SessionServiceBlockingStub sessions = SessionServiceGrpc.newBlockingStub(channel);
  final AccountServiceGrpc.AccountServiceBlockingStub accounts = AccountServiceGrpc.newBlockingStub(channel);
  final UserServiceGrpc.UserServiceBlockingStub users =
      UserServiceGrpc.newBlockingStub(channel).withInterceptors(administrator);
  final ApplicationServiceGrpc.ApplicationServiceBlockingStub applications =
      ApplicationServiceGrpc.newBlockingStub(channel).withInterceptors(administrator);
  final UserGrantServiceGrpc.UserGrantServiceBlockingStub grants =
      UserGrantServiceGrpc.newBlockingStub(channel).withInterceptors(administrator);
  final EventServiceGrpc.EventServiceBlockingStub events =
      EventServiceGrpc.newBlockingStub(channel).withInterceptors(administrator);

  @AfterAll
  static void close() {
    channel.shutdownNow();
  }

  @Test
  void changesAPasswordAndIsToldOfAWrongOne() {
    var old = CreateSessionRequest.newBuilder().setLoginName(loginName).setPassword(password).build();
    var session = with("authorization", "Bearer " + sessions.createSession(old).getToken());
    var caller = accounts.withInterceptors(session);

    var change = ChangePasswordRequest.newBuilder().setOldPassword(password).setNewPassword("Green-Teapot-77").build();
    assertTrue(caller.changePassword(change).getDetails().getSequence() > 1);
    assertRefused("INVALID_ARGUMENT PASSWORD_MISMATCH oldPassword", () -> caller.changePassword(change));

    assertRefused("UNAUTHENTICATED SIGN_IN_FAILED", () -> sessions.createSession(old));
    sessions.createSession(old.toBuilder().setPassword(change.getNewPassword()).build());
  }

  @Test
  void createsAnApplicationAndIsToldOfAMissingProject() {
    var request =
        CreateOidcApplicationRequest.newBuilder()
            .setProjectId(projectId)
            .setName("Zoë 🦊")
            .setAppType(OidcAppType.OIDC_APP_TYPE_NATIVE)
            .build();
    var created = applications.createOidcApplication(request);
    assertTrue(created.getNoneCompliant());
    assertTrue(created.getComplianceProblemsCount() > 0);
    assertTrue(created.getClientSecret().startsWith("cs_"));

    var which = GetApplicationRequest.newBuilder().setProjectId(projectId).setAppId(created.getAppId()).build();
    var application = applications.getApplication(which).getApplication();
    assertEquals("Zoë 🦊", application.getName());
    assertEquals(OidcAppType.OIDC_APP_TYPE_NATIVE, application.getOidc().getAppType());
    assertEquals(created.getClientId(), application.getClientId());

    var nowhere = request.toBuilder().setProjectId("none").build();
    assertRefused(
        "NOT_FOUND PROJECT_NOT_FOUND project/none", () -> applications.createOidcApplication(nowhere));
  }

  @Test
  void changesAPhoneAndIsToldOfEveryWrongField() {
    var request = phone("+41 44 668 18 00");
    var changed = users.changePhone(request);
    assertEquals(6, changed.getVerificationCode().length());

    var user = users.getUser(GetUserRequest.newBuilder().setUserId(userId).build()).getUser();
    assertEquals("+41446681800", user.getHuman().getPhone());
    assertEquals(changed.getDetails().getSequence(), user.getDetails().getSequence());

    var wrong = request.toBuilder().setPhone("12").setSendCode(SendPhoneCode.getDefaultInstance()).build();
    assertRefused(
        "INVALID_ARGUMENT VALIDATION_FAILED phone sendCode returnCode", () -> users.changePhone(wrong));
  }

  @Test
  void addsAGrantAndIsToldOfOneThatIsThere() throws Exception {
    assertTrue(grantViewer(userId, projectId));
    var list = grants.listUserGrants(ListUserGrantsRequest.newBuilder().setUserId(userId).build());
    var grant = list.getUserGrants(0);
    assertEquals(List.of("viewer"), grant.getRoleKeysList());

    assertFalse(grantViewer(userId, projectId));
    var request = AddUserGrantRequest.newBuilder().setUserId(userId).setProjectId(projectId).build();
    assertRefused(
        "ALREADY_EXISTS USER_GRANT_EXISTS user_grant/" + grant.getId(), () -> grants.addUserGrant(request));
  }

  // region README
  /** Gives the user the role; returns false if the user has it already. */
  static boolean grantViewer(String userId, String projectId) throws Exception {
    var channel = Grpc.newChannelBuilder(address, InsecureChannelCredentials.create()).build();
    var metadata = new Metadata();
    metadata.put(Metadata.Key.of("authorization", ASCII_STRING_MARSHALLER), "Bearer " + token);
    var grants =
        UserGrantServiceGrpc.newBlockingStub(channel)
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(metadata))
            .withDeadlineAfter(5, SECONDS);
    var request = AddUserGrantRequest.newBuilder().setUserId(userId).setProjectId(projectId).addRoleKeys("viewer");
    try {
      grants.addUserGrant(request.build());
      return true;
    } catch (StatusRuntimeException refusal) {
      for (var detail : StatusProto.fromThrowable(refusal).getDetailsList())
        if (detail.is(ErrorInfo.class) && detail.unpack(ErrorInfo.class).getReason().equals("USER_GRANT_EXISTS"))
          return false;
      throw refusal;
    } finally {
      channel.shutdown();
    }
  }
  // endregion

  @Test
  void isAskedForAToken() {
    assertRefused("UNAUTHENTICATED UNAUTHENTICATED", () -> accounts.getMe(GetMeRequest.getDefaultInstance()));
  }

  @Test
  void isRefusedInItsOwnLanguage() {
    var german = users.withInterceptors(with("accept-language", "de-CH, en;q=0.5"));
    assertRefused(
        "NOT_FOUND USER_NOT_FOUND user/nobody Der Benutzer nobody existiert nicht.",
        () -> german.getUser(GetUserRequest.newBuilder().setUserId("nobody").build()));
  }

  @Test
  void worksInTheOrganizationThatItNames() {
    var request =
        CreateOidcApplicationRequest.newBuilder().setProjectId(elsewhereOwned).setName("Elsewhere").build();
    assertRefused(
        "NOT_FOUND PROJECT_NOT_FOUND project/" + elsewhereOwned, () -> applications.createOidcApplication(request));
    var there = applications.withInterceptors(with("x-service-orgid", elsewhere));
    assertEquals(elsewhere, there.createOidcApplication(request).getDetails().getResourceOwner());
  }

  @Test
  void repeatsItselfAndGetsTheSameAnswer() {
    var once = applications.withInterceptors(with("idempotency-key", "repeated"));
    var request = CreateOidcApplicationRequest.newBuilder().setProjectId(projectId).setName("Once").build();
    var first = once.createOidcApplication(request);
    assertTrue(first.hasClientSecret());
    assertEquals(first, once.createOidcApplication(request));

    var other = request.toBuilder().setName("Twice").build();
    assertRefused("INVALID_ARGUMENT IDEMPOTENCY_KEY_REUSED", () -> once.createOidcApplication(other));
  }

  @Test
  void isToldByTheServerWhenItsTimeIsOver() {
    // For the server only: the deadline of a stub is watched by grpc-java as well, which gives up first.
    var briefly = users.withInterceptors(with("grpc-timeout", "200m"));
    var request = CreateAccessTokenRequest.newBuilder().setUserId(userId).build();
    assertRefused("DEADLINE_EXCEEDED DEADLINE_EXCEEDED", () -> briefly.createAccessToken(request));
  }

  @Test
  void sendsCompressedMessages() {
    var compressed = applications.withCompression("gzip");
    var uris = IntStream.range(0, 100).mapToObj(n -> "https://app.example.com/callback/" + n).toList();
    var request = CreateOidcApplicationRequest.newBuilder().setProjectId(projectId).setName("Large");
    var created = compressed.createOidcApplication(request.addAllRedirectUris(uris).build());
    var which = GetApplicationRequest.newBuilder().setProjectId(projectId).setAppId(created.getAppId()).build();
    assertEquals(uris, compressed.getApplication(which).getApplication().getOidc().getRedirectUrisList());
  }

  @Test
  void watchesEvents() {
    var some = ListEventsRequest.newBuilder().setObjectId(userId).setPageSize(1).build();
    var past = events.listEvents(some).getEvents(0);
    var more = WatchEventsRequest.newBuilder().setObjectId(userId).setAfter(past.getPosition()).build();
    var stream = events.watchEvents(more);

    var changed = users.changePhone(phone("+41446681801"));
    var event = stream.next().getEvent();
    assertEquals("user.phone_changed", event.getType());
    assertEquals(changed.getDetails().getSequence(), event.getSequence());
    assertEquals("+41446681801", event.getFact().getUser().getPhoneChanged().getPhone());
  }

  @Test
  void asksForHealth() {
    var request = HealthCheckRequest.newBuilder().setService("postern.v1.UserService").build();
    assertEquals(ServingStatus.SERVING, HealthGrpc.newBlockingStub(channel).check(request).getStatus());
  }

  @Test
  void findsServicesByReflection() throws Exception {
    var answer = new CompletableFuture<ServerReflectionResponse>();
    var questions = ServerReflectionGrpc.newStub(channel).serverReflectionInfo(completing(answer));
    questions.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
    var services = answer.get(30, SECONDS).getListServicesResponse().getServiceList();
    questions.onCompleted();
    assertTrue(services.stream().anyMatch(service -> service.getName().equals("postern.v1.UserGrantService")));
  }

  static ChangePhoneRequest phone(String number) {
    var returned = ReturnPhoneCode.getDefaultInstance();
    return ChangePhoneRequest.newBuilder().setUserId(userId).setPhone(number).setReturnCode(returned).build();
  }

  /** Sends a piece of metadata with each call. */
  static ClientInterceptor with(String name, String value) {
    var metadata = new Metadata();
    metadata.put(Metadata.Key.of(name, ASCII_STRING_MARSHALLER), value);
    return MetadataUtils.newAttachHeadersInterceptor(metadata);
  }

  /** The first message of a stream. */
  static <T> StreamObserver<T> completing(CompletableFuture<T> first) {
    return new StreamObserver<>() {
      @Override
      public void onNext(T message) {
        first.complete(message);
      }

      @Override
      public void onError(Throwable error) {
        first.completeExceptionally(error);
      }

      @Override
      public void onCompleted() {}
    };
  }

  static void assertRefused(String said, Executable call) {
    assertEquals(said, words(assertThrows(StatusRuntimeException.class, call)));
  }

  /** A refusal in one line: its code, and what its details tell. */
  static String words(StatusRuntimeException refusal) {
    var words = new ArrayList<String>();
    words.add(refusal.getStatus().getCode().name());
    for (var detail : StatusProto.fromThrowable(refusal).getDetailsList()) words.addAll(told(detail));
    return String.join(" ", words);
  }

  static List<String> told(Any detail) {
    try {
      if (detail.is(ErrorInfo.class)) return List.of(detail.unpack(ErrorInfo.class).getReason());
      if (detail.is(LocalizedMessage.class)) return List.of(detail.unpack(LocalizedMessage.class).getMessage());
      if (detail.is(BadRequest.class)) {
        var violations = detail.unpack(BadRequest.class).getFieldViolationsList();
        return violations.stream().map(BadRequest.FieldViolation::getField).toList();
      }
      var resource = detail.unpack(ResourceInfo.class);
      return List.of(resource.getResourceType() + "/" + resource.getResourceName());
    } catch (InvalidProtocolBufferException broken) {
      throw new AssertionError(broken);
    }
  }
}
