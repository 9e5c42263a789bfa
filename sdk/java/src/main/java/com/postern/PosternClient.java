package com.postern;

import static io.grpc.Metadata.ASCII_STRING_MARSHALLER;

import com.google.gson.Gson;
import com.google.protobuf.DescriptorProtos.MethodOptions.IdempotencyLevel;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.postern.v1.AccountServiceGrpc;
import com.postern.v1.ApplicationServiceGrpc;
import com.postern.v1.AuthorizationServiceGrpc;
import com.postern.v1.ConsentServiceGrpc;
import com.postern.v1.DeliveryServiceGrpc;
import com.postern.v1.DomainServiceGrpc;
import com.postern.v1.EventServiceGrpc;
import com.postern.v1.ExplanationServiceGrpc;
import com.postern.v1.FactorServiceGrpc;
import com.postern.v1.InvitationServiceGrpc;
import com.postern.v1.JobServiceGrpc;
import com.postern.v1.MachineCredentialServiceGrpc;
import com.postern.v1.MemberServiceGrpc;
import com.postern.v1.NameServiceGrpc;
import com.postern.v1.OrganizationServiceGrpc;
import com.postern.v1.PolicyServiceGrpc;
import com.postern.v1.ProjectServiceGrpc;
import com.postern.v1.RegistrationServiceGrpc;
import com.postern.v1.SessionServiceGrpc;
import com.postern.v1.SubscriptionServiceGrpc;
import com.postern.v1.UserExportServiceGrpc;
import com.postern.v1.UserGrantServiceGrpc;
import com.postern.v1.UserRoleServiceGrpc;
import com.postern.v1.UserServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;

/**
 * The client of each service, over one channel. It sends a token with each call, an idempotency key with each write, and repeats calls
 * that found no server.
 */
public final class PosternClient implements AutoCloseable {
  private static final Metadata.Key<String> AUTHORIZATION = Metadata.Key.of("authorization", ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> IDEMPOTENCY_KEY =
      Metadata.Key.of("idempotency-key", ASCII_STRING_MARSHALLER);

  private final ManagedChannel channel;

  /**
   * Makes a client over a channel that is not built yet, such as that of {@code Grpc.newChannelBuilder(address, credentials)}.
   *
   * @param token the token of the caller, asked before each call, so that it may read a fresh one; for null or an empty one the call
   *     goes without
   */
  public PosternClient(ManagedChannelBuilder<?> builder, Supplier<String> token) {
    channel = builder.defaultServiceConfig(retryPolicy()).enableRetry().intercept(new Headers(token)).build();
  }

  public AccountServiceGrpc.AccountServiceBlockingStub accounts() {
    return AccountServiceGrpc.newBlockingStub(channel);
  }

  public ApplicationServiceGrpc.ApplicationServiceBlockingStub applications() {
    return ApplicationServiceGrpc.newBlockingStub(channel);
  }

  public AuthorizationServiceGrpc.AuthorizationServiceBlockingStub authorization() {
    return AuthorizationServiceGrpc.newBlockingStub(channel);
  }

  public ConsentServiceGrpc.ConsentServiceBlockingStub consents() {
    return ConsentServiceGrpc.newBlockingStub(channel);
  }

  public DeliveryServiceGrpc.DeliveryServiceBlockingStub deliveries() {
    return DeliveryServiceGrpc.newBlockingStub(channel);
  }

  public DomainServiceGrpc.DomainServiceBlockingStub domains() {
    return DomainServiceGrpc.newBlockingStub(channel);
  }

  public EventServiceGrpc.EventServiceBlockingStub events() {
    return EventServiceGrpc.newBlockingStub(channel);
  }

  public ExplanationServiceGrpc.ExplanationServiceBlockingStub explanations() {
    return ExplanationServiceGrpc.newBlockingStub(channel);
  }

  public FactorServiceGrpc.FactorServiceBlockingStub factors() {
    return FactorServiceGrpc.newBlockingStub(channel);
  }

  public InvitationServiceGrpc.InvitationServiceBlockingStub invitations() {
    return InvitationServiceGrpc.newBlockingStub(channel);
  }

  public RegistrationServiceGrpc.RegistrationServiceBlockingStub registrations() {
    return RegistrationServiceGrpc.newBlockingStub(channel);
  }

  public JobServiceGrpc.JobServiceBlockingStub jobs() {
    return JobServiceGrpc.newBlockingStub(channel);
  }

  public MachineCredentialServiceGrpc.MachineCredentialServiceBlockingStub machineCredentials() {
    return MachineCredentialServiceGrpc.newBlockingStub(channel);
  }

  public MemberServiceGrpc.MemberServiceBlockingStub members() {
    return MemberServiceGrpc.newBlockingStub(channel);
  }

  public NameServiceGrpc.NameServiceBlockingStub names() {
    return NameServiceGrpc.newBlockingStub(channel);
  }

  public OrganizationServiceGrpc.OrganizationServiceBlockingStub organizations() {
    return OrganizationServiceGrpc.newBlockingStub(channel);
  }

  public PolicyServiceGrpc.PolicyServiceBlockingStub policies() {
    return PolicyServiceGrpc.newBlockingStub(channel);
  }

  public ProjectServiceGrpc.ProjectServiceBlockingStub projects() {
    return ProjectServiceGrpc.newBlockingStub(channel);
  }

  public SessionServiceGrpc.SessionServiceBlockingStub sessions() {
    return SessionServiceGrpc.newBlockingStub(channel);
  }


  public SubscriptionServiceGrpc.SubscriptionServiceBlockingStub subscriptions() {
    return SubscriptionServiceGrpc.newBlockingStub(channel);
  }

  public UserExportServiceGrpc.UserExportServiceBlockingStub userExports() {
    return UserExportServiceGrpc.newBlockingStub(channel);
  }

  public UserGrantServiceGrpc.UserGrantServiceBlockingStub userGrants() {
    return UserGrantServiceGrpc.newBlockingStub(channel);
  }

  public UserRoleServiceGrpc.UserRoleServiceBlockingStub userRoles() {
    return UserRoleServiceGrpc.newBlockingStub(channel);
  }

  public UserServiceGrpc.UserServiceBlockingStub users() {
    return UserServiceGrpc.newBlockingStub(channel);
  }

  /** Returns the channel, for stubs of another kind. */
  public Channel channel() {
    return channel;
  }

  @Override
  public void close() {
    channel.shutdown();
  }

  /** Returns the stable reason of a refusal, such as {@code USER_GRANT_EXISTS}; empty for any other error. */
  public static Optional<String> reasonOf(Throwable error) {
    return details(error, ErrorInfo.class).stream().map(ErrorInfo::getReason).findFirst();
  }

  /** Returns the wrong fields of a refused request, each with the rule that it breaks. */
  public static List<BadRequest.FieldViolation> violationsOf(Throwable error) {
    return details(error, BadRequest.class).stream().flatMap(bad -> bad.getFieldViolationsList().stream()).toList();
  }

  private static <T extends com.google.protobuf.Message> List<T> details(Throwable error, Class<T> type) {
    var found = new ArrayList<T>();
    var status = StatusProto.fromThrowable(error);
    if (status == null) return found;
    for (var detail : status.getDetailsList()) {
      try {
        if (detail.is(type)) found.add(detail.unpack(type));
      } catch (InvalidProtocolBufferException unreadable) {
        // A detail that this version cannot read is of no use to the caller.
        continue;
      }
    }
    return found;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, ?> retryPolicy() {
    try (var in = PosternClient.class.getResourceAsStream("grpc-retry.json")) {
      return new Gson().fromJson(new InputStreamReader(in, StandardCharsets.UTF_8), Map.class);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** Sends what each call carries. All attempts of a call carry the same. */
  private record Headers(Supplier<String> token) implements ClientInterceptor {
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
        @Override
        public void start(Listener<A> listener, Metadata headers) {
          var value = token == null || headers.containsKey(AUTHORIZATION) ? null : token.get();
          if (value != null && !value.isBlank()) headers.put(AUTHORIZATION, "Bearer " + value.strip());
          if (isWrite(method) && !headers.containsKey(IDEMPOTENCY_KEY))
            headers.put(IDEMPOTENCY_KEY, UUID.randomUUID().toString());
          super.start(listener, headers);
        }
      };
    }

    private static boolean isWrite(MethodDescriptor<?, ?> method) {
      return method.getType() == MethodDescriptor.MethodType.UNARY
          && method.getSchemaDescriptor() instanceof ProtoMethodDescriptorSupplier schema
          && schema.getMethodDescriptor().getOptions().getIdempotencyLevel() != IdempotencyLevel.NO_SIDE_EFFECTS;
    }
  }
}
