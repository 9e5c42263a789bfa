import type { DescService } from "@bufbuild/protobuf";
import { EventService } from "../../../gen/postern/v1/event_pb.ts";
import { MemberService } from "../../../gen/postern/v1/member_pb.ts";
import { UserService } from "../../../gen/postern/v1/user_pb.ts";
import { type Guard, type Operations, operationTable } from "../../../src/transport/operations.ts";
import { sampleImplementation } from "../sample_door.ts";

const open: Guard = { unary: (_method, handler) => handler, stream: (_method, handler) => handler };

/** Operations of the real contract that nobody calls. */
export function silentOperations(
  services: readonly DescService[] = [EventService, MemberService, UserService],
): Operations {
  return operationTable(
    services.map((service) => sampleImplementation(service, async () => ({}))),
    open,
  );
}
