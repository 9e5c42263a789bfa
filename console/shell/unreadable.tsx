import { Button } from "../parts/button.tsx";
import { Notice } from "./notice.tsx";

/** The page shown if the file of the language cannot be loaded. Its words would be in that file. */
export function Unreadable() {
  return (
    <Notice
      title="The console could not be loaded."
      about="A file is missing. Postern may have been upgraded just now."
    >
      <Button kind="main" onClick={() => location.reload()}>
        Load again
      </Button>
    </Notice>
  );
}
