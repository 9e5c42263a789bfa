import com.google.gson.Gson;
import com.google.rpc.BadRequest.FieldViolation;
import com.postern.PosternClient;
import com.postern.v1.AddUserGrantRequest;
import com.postern.v1.ChangePasswordRequest;
import com.postern.v1.ChangePhoneRequest;
import com.postern.v1.CreateOidcApplicationRequest;
import com.postern.v1.CreateSessionRequest;
import com.postern.v1.ReturnPhoneCode;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.StatusRuntimeException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** Does the four operations with the packed library, behind a relay that loses every other answer. */
class Program {
  static final Map<String, String> environment = System.getenv();

  public static void main(String[] arguments) {
    var asked = new AtomicInteger();
    var userId = environment.get("POSTERN_USER_ID");
    var projectId = environment.get("POSTERN_PROJECT_ID");
    var password = environment.get("POSTERN_PASSWORD");
    Supplier<String> admin =
        () -> {
          asked.incrementAndGet();
          return environment.get("POSTERN_TOKEN") + "\n";
        };
    try (var postern = connect(admin)) {
      var add =
          AddUserGrantRequest.newBuilder().setUserId(userId).setProjectId(projectId).addRoleKeys("viewer").build();
      var grant = postern.userGrants().addUserGrant(add);
      var again = refusalOf(() -> postern.userGrants().addUserGrant(add));
      var create = CreateOidcApplicationRequest.newBuilder().setProjectId(projectId).setName("From the library");
      var application = postern.applications().createOidcApplication(create.build());
      var change = ChangePhoneRequest.newBuilder().setUserId(userId).setPhone("+41446681800");
      var phone = postern.users().changePhone(change.setReturnCode(ReturnPhoneCode.getDefaultInstance()).build());
      var bad = ChangePhoneRequest.newBuilder().setUserId(userId).setPhone("12").build();
      var wrong = refusalOf(() -> postern.users().changePhone(bad));
      var outcome =
          Map.of(
              "grant", !grant.getUserGrantId().isEmpty(),
              "again", PosternClient.reasonOf(again).orElse(""),
              "application", !application.getClientId().isEmpty(),
              "code", phone.getVerificationCode().length(),
              "wrong", PosternClient.violationsOf(wrong).stream().map(FieldViolation::getField).toList(),
              "changed", changesPassword(password),
              "asked", asked.get());
      System.out.println(new Gson().toJson(outcome));
    }
  }

  static boolean changesPassword(String password) {
    var name = environment.get("POSTERN_LOGIN_NAME");
    var signIn = CreateSessionRequest.newBuilder().setLoginName(name).setPassword(password).build();
    try (var stranger = connect(null)) {
      var token = stranger.sessions().createSession(signIn).getToken();
      try (var own = connect(() -> token)) {
        var replace = ChangePasswordRequest.newBuilder().setOldPassword(password).setNewPassword("Green-Teapot-77");
        return own.accounts().changePassword(replace.build()).getDetails().getSequence() > 1;
      }
    }
  }

  static PosternClient connect(Supplier<String> token) {
    var address = environment.get("POSTERN_ADDRESS");
    return new PosternClient(Grpc.newChannelBuilder(address, InsecureChannelCredentials.create()), token);
  }

  static StatusRuntimeException refusalOf(Runnable call) {
    try {
      call.run();
      throw new AssertionError("the call was not refused");
    } catch (StatusRuntimeException refusal) {
      return refusal;
    }
  }
}
