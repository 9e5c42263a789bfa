import { call } from "../calls/client.ts";
import { useCall } from "../calls/use_call.ts";
import { Metadata } from "../objects/metadata.tsx";
import { may } from "../sign_in/me.ts";
import type { UserPart } from "./user_part.ts";

/** The metadata of a user. */
export function UserMetadata({ user, reading: page }: UserPart) {
  const userId = user.id ?? "";
  const about = { userId };
  const reading = useCall("UserService/GetUserMetadata", about);
  const read = async () => {
    const [{ entries = [] }, { user: now }] = await Promise.all([
      call("UserService/GetUserMetadata", about),
      call("UserService/GetUser", about),
    ]);
    return { value: entries, sequence: now?.details?.sequence ?? "0" };
  };
  return (
    <Metadata
      reading={reading}
      sequence={user.details?.sequence ?? "0"}
      read={read}
      write={(request, key) => call("UserService/SetUserMetadata", { ...about, ...request }, { key })}
      mayWrite={may("UserService/SetUserMetadata", { organizationId: user.details?.resourceOwner })}
      onChanged={page.reload}
    />
  );
}
